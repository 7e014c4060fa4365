/**
 * Names of a function's parameters, read from its text: for messages, and for `donateArgnames`.
 *
 * Depends on: nothing.
 */
export interface Parameters {
  /** One per parameter; undefined for a destructured one. */
  readonly names: readonly (string | undefined)[];
  /** Takes any number of arguments. */
  readonly open: boolean;
}

/** The parameters of `f`, or undefined when its text can't be read (native and bound functions). */
export function parametersOf(f: (...args: never[]) => unknown): Parameters | undefined {
  const text = Function.prototype.toString.call(f);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) return undefined;
  const list = parameterList(text);
  if (list === undefined) return undefined;
  const parts = splitAtCommas(list)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const open = parts.some((part) => part.startsWith('...'));
  return {
    names: parts
      .filter((part) => !part.startsWith('...'))
      .map((part) => /^([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)\s*(?:=|$)/u.exec(part)?.[1]),
    open,
  };
}

/** What stands between the parentheses of the parameters, or the one name before `=>`. */
function parameterList(text: string): string | undefined {
  const bare = /^\s*(?:async\s+)?([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*=>/u.exec(text);
  if (bare) return bare[1];
  const open = text.indexOf('(');
  if (open < 0) return undefined;
  const close = endOf(text, open);
  return close === undefined ? undefined : withoutComments(text.slice(open + 1, close));
}

/** The position of the bracket that closes the one at `open`. */
function endOf(text: string, open: number): number | undefined {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    const skipped = skipText(text, i);
    if (skipped !== i) {
      i = skipped - 1;
      continue;
    }
    if ('([{'.includes(text[i]!)) depth++;
    else if (')]}'.includes(text[i]!) && --depth === 0) return i;
  }
  return undefined;
}

/** Past a string or comment that starts at `i`; `i` itself when none does. */
function skipText(text: string, i: number): number {
  const quote = text[i]!;
  if (quote === '/' && text[i + 1] === '/') return text.indexOf('\n', i) < 0 ? text.length : text.indexOf('\n', i);
  if (quote === '/' && text[i + 1] === '*') return text.indexOf('*/', i + 2) + 2;
  if (!`'"\``.includes(quote)) return i;
  let end = i + 1;
  while (end < text.length && text[end] !== quote) end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '');

function splitAtCommas(text: string): readonly string[] {
  const parts: string[] = [];
  let [depth, start] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const skipped = skipText(text, i);
    if (skipped !== i) {
      i = skipped - 1;
      continue;
    }
    if ('([{'.includes(text[i]!)) depth++;
    else if (')]}'.includes(text[i]!)) depth--;
    else if (text[i] === ',' && depth === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...parts, text.slice(start)];
}
