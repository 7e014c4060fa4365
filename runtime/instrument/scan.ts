/**
 * Finds the functions of a JavaScript module without a parser: tokens and brackets are enough to know where bodies begin.
 *
 * After `)` a `{` opens a function or a statement's block, told apart by the word before the matching `(`; after `=>` it
 * opens a function. Whether `/` divides or opens a pattern is decided by the token before it. Literals are skipped whole.
 * When the brackets don't close, the guess was wrong somewhere, and nothing is returned. Depends on: nothing.
 */
export interface ScannedFunction {
  readonly name: string;
  /** It is written as the argument of a compiler of functions: `step = jit((x) => …)`. */
  readonly compiled: boolean;
  /** From the function's name or parameters to the end of its body. */
  readonly start: number;
  readonly end: number;
  readonly body:
    { readonly kind: 'block'; readonly offset: number } | { readonly kind: 'expression'; readonly offset: number; readonly end: number };
}

/** The only argument of a call that makes something on the GPU. */
export interface ScannedSite {
  readonly start: number;
  readonly end: number;
}

export interface Scanned {
  /** After a `#!` line and directives: where a first statement may stand. */
  readonly head: number;
  readonly functions: readonly ScannedFunction[];
  readonly sites: readonly ScannedSite[];
}

interface Token {
  readonly text: string;
  readonly start: number;
}

interface Bracket {
  readonly open: string;
  /** Tokens before the opening one. */
  readonly before: readonly Token[];
  readonly opened: number;
  /** A function whose body this brace is. */
  body: { readonly name: string; readonly compiled: boolean; readonly start: number; readonly offset: number } | undefined;
  readonly template: boolean;
  /** Arrow bodies without braces that end where this bracket closes, at the latest. */
  readonly arrows: {
    readonly name: string;
    readonly compiled: boolean;
    readonly start: number;
    readonly offset: number;
    questions: number;
    line: boolean;
  }[];
  /** `class` was seen, and its body not yet. */
  classAhead: boolean;
  commas: number;
}

const makers: ReadonlySet<string> = new Set(['createBuffer', 'createTexture']);
const statementWords: ReadonlySet<string> = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'await']);
const patternAfter = /^(?:return|typeof|case|in|of|new|delete|void|throw|instanceof|do|else|yield|await|[({[,;=:!&|?+\-*%<>~^}]|=>)$/;
const closing: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

export function scan(source: string): Scanned | undefined {
  const functions: ScannedFunction[] = [];
  const sites: ScannedSite[] = [];
  const stack: Bracket[] = [bracket('', [], 0, false)];
  const recent: Token[] = [];
  /** What stood before the `(` that the last `)` closed. */
  let beforeParameters: readonly Token[] = [];
  let parametersStart = 0;
  let at = headOf(source);
  const head = at;

  /** `device.createBuffer({…})` with one argument, which isn't spread. */
  const isSite = ({ before, opened, commas }: Bracket, end: Token): boolean =>
    makers.has(before.at(-1)?.text ?? '') &&
    before.at(-2)?.text === '.' &&
    end.start > opened &&
    (commas === 0 || (commas === 1 && end.text === ',')) &&
    !source.startsWith('...', skipBlank(source, opened + 1));
  const top = (): Bracket => stack.at(-1)!;
  const last = (n = 1): Token | undefined => recent.at(-n);
  const push = (text: string, start: number): void => {
    recent.push({ text, start });
    if (recent.length > 8) recent.shift();
  };

  function endArrows(end: number): void {
    const { arrows } = top();
    while (arrows.length > 0) {
      const arrow = arrows.pop()!;
      if (!arrow.line)
        functions.push({
          name: arrow.name,
          compiled: arrow.compiled,
          start: arrow.start,
          end,
          body: { kind: 'expression', offset: arrow.offset, end },
        });
    }
  }

  while (at < source.length) {
    const c = source[at]!;
    if (c === '\n') {
      // A statement may end here without a sign; such an arrow body is not counted.
      for (const arrow of top().arrows) arrow.line = true;
      at += 1;
      continue;
    }
    if (c === ' ' || c === '\t' || c === '\r' || c === '\u00a0' || c === '\ufeff') {
      at += 1;
      continue;
    }
    if (c === '/' && (source[at + 1] === '/' || source[at + 1] === '*')) {
      const end = source[at + 1] === '/' ? source.indexOf('\n', at) : source.indexOf('*/', at + 2) + 2;
      if (end === 1) return undefined;
      at = end === -1 ? source.length : end;
      continue;
    }
    if (c === '"' || c === "'") {
      const end = stringEnd(source, at);
      if (end === undefined) return undefined;
      push('""', at);
      at = end;
      continue;
    }
    if (c === '`' || (c === '}' && top().template)) {
      if (c === '}') {
        endArrows(at);
        stack.pop();
      }
      const end = templateEnd(source, at + 1);
      if (end === undefined) return undefined;
      if (end.opens) stack.push(bracket('{', [], at, true));
      push(end.opens ? '${' : '``', at);
      if (end.opens) recent.push({ text: '(', start: at });
      at = end.at;
      continue;
    }
    if (c === '/') {
      const previous = last()?.text;
      if (previous === undefined || patternAfter.test(previous)) {
        const end = patternEnd(source, at);
        if (end === undefined) return undefined;
        push('//', at);
        at = end;
        continue;
      }
    }
    const word = wordAt(source, at);
    if (word !== undefined) {
      const end = at + word.length;
      if (word === 'class' && last()?.text !== '.') top().classAhead = true;
      push(word, at);
      at = end;
      continue;
    }
    if (c === '=' && source[at + 1] === '>') {
      const bare = last()?.text !== ')';
      const start = bare ? (last()?.start ?? at) : parametersStart;
      const before = bare ? recent.slice(0, -1) : beforeParameters;
      const name = boundName(before);
      const compiled = isCompiled(before);
      push('=>', at);
      at += 2;
      const body = skipBlank(source, at);
      if (source[body] === '{') {
        const { end, opened } = bodyOf(source, body);
        stack.push({ ...bracket('{', [], body, false), body: { name, compiled, start, offset: end } });
        recent.push({ text: '{', start: body });
        at = opened;
      } else if (body < source.length) {
        top().arrows.push({ name, compiled, start, offset: body, questions: 0, line: false });
        at = body;
      }
      continue;
    }
    if (c === '(' || c === '[' || c === '{') {
      const isBody = c === '{' && last()?.text === ')' && !top().classAhead && isFunction(beforeParameters);
      const opened = bracket(c, [...recent], at, false);
      if (c === '{') top().classAhead = false;
      const body = isBody ? bodyOf(source, at) : undefined;
      if (body !== undefined)
        opened.body = { ...nameAndStart(beforeParameters, parametersStart), compiled: isCompiled(beforeParameters), offset: body.end };
      stack.push(opened);
      push(c, at);
      at = body?.opened ?? at + 1;
      continue;
    }
    if (c === ')' || c === ']' || c === '}') {
      endArrows(at);
      const opened = stack.pop();
      if (opened === undefined || opened.open !== closing[c] || stack.length === 0) return undefined;
      if (c === ')') {
        beforeParameters = opened.before;
        parametersStart = opened.opened;
        if (isSite(opened, last()!)) sites.push({ start: opened.opened + 1, end: at });
      }
      if (opened.body !== undefined)
        functions.push({
          name: opened.body.name,
          compiled: opened.body.compiled,
          start: opened.body.start,
          end: at + 1,
          body: { kind: 'block', offset: opened.body.offset },
        });
      push(c, at);
      at += 1;
      continue;
    }
    const { arrows } = top();
    if (c === ',') top().commas += 1;
    if (c === ',' || c === ';') endArrows(at);
    else if (c === '?' && source[at + 1] !== '.' && source[at + 1] !== '?' && source[at - 1] !== '?')
      for (const arrow of arrows) arrow.questions += 1;
    else if (c === ':' && arrows.length > 0) {
      if (arrows.at(-1)!.questions === 0) endArrows(at);
      else for (const arrow of arrows) arrow.questions -= 1;
    }
    push(c, at);
    at += 1;
  }
  endArrows(source.length);
  return stack.length === 1 ? { head, functions: functions.toSorted((a, b) => a.start - b.start), sites } : undefined;
}

const bracket = (open: string, before: readonly Token[], opened: number, template: boolean): Bracket => ({
  open,
  before,
  opened,
  body: undefined,
  template,
  arrows: [],
  classAhead: false,
  commas: 0,
});

const identifier = /[\p{ID_Start}$_#\\][\p{ID_Continue}$\u200c\u200d]*/uy;
const numeral = /[0-9][\p{ID_Continue}.]*/uy;

function wordAt(source: string, at: number): string | undefined {
  const code = source.charCodeAt(at);
  const isDigit = code >= 48 && code <= 57;
  // Signs below the letters can start no word; most characters that are asked about are signs.
  if (code < 65 && !isDigit && code !== 35 && code !== 36) return undefined;
  const kind = isDigit ? numeral : identifier;
  kind.lastIndex = at;
  return kind.exec(source)?.[0];
}

/** The words before `(` make a function of `(…) {`, and not a statement. */
function isFunction(before: readonly Token[]): boolean {
  const word = before.at(-1)?.text;
  if (word === undefined) return false;
  // `obj.if(…) {` cannot be; a method may be called `catch`, and is only miscounted then.
  return !statementWords.has(word) && /^(?:[\p{ID_Start}$_#][\p{ID_Continue}$]*|""|\]|\*|[0-9].*)$/u.test(word);
}

function nameAndStart(before: readonly Token[], parameters: number): { name: string; start: number } {
  const word = before.at(-1);
  if (word === undefined || word.text === 'function' || word.text === '*')
    return {
      name: boundName(before.filter(({ text }) => text !== 'function' && text !== 'async' && text !== '*')),
      start: word?.start ?? parameters,
    };
  return { name: word.text === '""' || word.text === ']' ? '' : word.text, start: word.start };
}

/** The words before the function are a call that compiles it. */
function isCompiled(before: readonly Token[]): boolean {
  const words = before.filter(({ text }) => text !== 'function' && text !== 'async' && text !== '*');
  const last = words.at(-1)?.text === '(' ? words : words.slice(0, -1);
  return last.at(-1)?.text === '(' && compilers.has(last.at(-2)?.text ?? '');
}

const compilers: ReadonlySet<string> = new Set(['jit', 'pmap']);

/** `const step = …`, `step: …`, `x.step = …`, `step = jit(…`: the name that a function without one is bound to. */
function boundName(before: readonly Token[]): string {
  const own = before.at(-1)?.text === 'async' ? before.slice(0, -1) : before;
  const words = own.at(-1)?.text === '(' && wrappers.has(own.at(-2)?.text ?? '') ? withoutCallee(own.slice(0, -1)) : own;
  const sign = words.at(-1)?.text;
  const name = words.at(-2)?.text;
  return (sign === '=' || sign === ':') && name !== undefined && /^[\p{ID_Start}$_#]/u.test(name) ? name : '';
}

/** Calls that give back the same function, made faster or different: what they return is what people call it. */
const wrappers: ReadonlySet<string> = new Set(['jit', 'pmap', 'vmap', 'grad', 'valueAndGrad', 'checkpoint', 'remat']);

/** The words before `jit`, or before `tm.jit`. */
function withoutCallee(words: readonly Token[]): readonly Token[] {
  const rest = words.slice(0, -1);
  return rest.at(-1)?.text === '.' ? withoutCallee(rest.slice(0, -1)) : rest;
}

/** Where a statement may stand in the block at `brace`: after its directives. */
function bodyOf(source: string, brace: number): { readonly end: number; readonly opened: number } {
  return { end: afterDirectives(source, brace + 1), opened: brace + 1 };
}

function headOf(source: string): number {
  const line = source.startsWith('#!') ? source.indexOf('\n') + 1 : 0;
  return afterDirectives(source, line);
}

function afterDirectives(source: string, from: number): number {
  let at = from;
  for (;;) {
    const start = skipBlank(source, at);
    if (source[start] !== '"' && source[start] !== "'") return at;
    const end = stringEnd(source, start);
    if (end === undefined || source[end] !== ';') return at;
    at = end + 1;
  }
}

function skipBlank(source: string, from: number): number {
  let at = from;
  for (;;) {
    while (at < source.length && /\s/.test(source[at]!)) at += 1;
    if (source.startsWith('/*', at)) at = Math.max(source.indexOf('*/', at) + 2, at + 2);
    else if (source.startsWith('//', at)) at = Math.max(source.indexOf('\n', at), at + 2);
    else return at;
  }
}

function stringEnd(source: string, start: number): number | undefined {
  const quote = source[start];
  for (let at = start + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === quote) return at + 1;
    else if (source[at] === '\n') return undefined;
  }
  return undefined;
}

function templateEnd(source: string, start: number): { readonly at: number; readonly opens: boolean } | undefined {
  for (let at = start; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '`') return { at: at + 1, opens: false };
    else if (source[at] === '$' && source[at + 1] === '{') return { at: at + 2, opens: true };
  }
  return undefined;
}

function patternEnd(source: string, start: number): number | undefined {
  let inClass = false;
  for (let at = start + 1; at < source.length; at += 1) {
    const c = source[at];
    if (c === '\\') at += 1;
    else if (c === '\n') return undefined;
    else if (c === '[') inClass = true;
    else if (c === ']') inClass = false;
    else if (c === '/' && !inClass) return at + 1;
  }
  return undefined;
}
