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
  return readList(list);
}

/**
 * The same by the names that people wrote, where a loader that avoids shadowing has turned `w` into `w2`. `source` gives the
 * text of the function as it was written, and is asked only then.
 */
export function asWritten(parameters: Parameters | undefined, source: () => string | undefined): Parameters | undefined {
  if (parameters === undefined || !parameters.names.some((name) => name !== undefined && /\d$/.test(name))) return parameters;
  const text = source();
  const list = text !== undefined && /^(?:async\b\s*)?(?:function\b[^(]*)?\(/.test(text) ? parameterList(text) : undefined;
  if (list === undefined) return parameters;
  const { names, open } = readList(list);
  const same = (own: string | undefined, k: number): boolean =>
    own === undefined
      ? names[k] === undefined
      : names[k] !== undefined && own.startsWith(names[k]) && /^\d*$/.test(own.slice(names[k].length));
  return names.length === parameters.names.length && open === parameters.open && parameters.names.every(same)
    ? { names, open }
    : parameters;
}

function readList(list: string): Parameters {
  const parts = splitAtCommas(list)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return {
    names: parts
      .filter((part) => !part.startsWith('...'))
      .map((part) => /^([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)\s*(?:\??:|=|$)/u.exec(part)?.[1]),
    open: parts.some((part) => part.startsWith('...')),
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
