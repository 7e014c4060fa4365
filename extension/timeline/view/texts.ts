/**
 * What the view says, in the person's language: the page carries the translations, English stands in the code.
 *
 * Depends on: nothing.
 */
let translations: Readonly<Record<string, string>> | undefined;

/** `{0}`, `{1}` … stand for the arguments. */
export function t(text: string, ...args: readonly (string | number)[]): string {
  translations ??= read();
  return (translations[text] ?? text).replace(/\{(\d+)\}/g, (_, index: string) => String(args[Number(index)] ?? ''));
}

function read(): Readonly<Record<string, string>> {
  const given = document.body.dataset['texts'];
  return given === undefined || given === '' ? {} : (JSON.parse(given) as Readonly<Record<string, string>>);
}
