/**
 * What people call a function that has no name of its own: the variable, field or property that the call's result goes to,
 * read from the line of the call; else that line.
 *
 *     const step = jit((w) => …)      `step`
 *     this.update = jit(…)            `update`
 *     run(jit(…))                     `the function at train.ts:12`
 *
 * The file is read only when a name is asked for, and only where the text at the place is that call.
 * Depends on: core.
 */
import type { Place } from '../core/source.ts';
import { written } from '../core/stack.ts';

const identifier = String.raw`[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*`;
/** A declaration with or without a type, a field, a property; whatever the call is a method of may stand between. */
const binding = new RegExp(String.raw`(?:^|[\s.,{(;])#?(${identifier})\s*(?:[?!]?:[^=>]*)?[:=]\s*(?:${identifier}\s*\.\s*)*$`, 'u');
const call = new RegExp(String.raw`^${identifier}\s*[<(]`, 'u');

const files = new Map<string, readonly string[] | undefined>();

export function boundName(place: Place | undefined): string | undefined {
  if (place === undefined) return undefined;
  const { file, line, column } = written(place);
  const lines = linesOf(file.replace(/^file:\/\//, ''));
  const text = lines?.[line - 1];
  if (lines === undefined || text === undefined || !call.test(text.slice(column - 1))) return undefined;
  const before = text.slice(0, column - 1);
  return binding.exec(before.trim() === '' ? `${lines[line - 2] ?? ''}${before}` : before)?.[1];
}

/** The text of the argument that a call at the place begins with, as far as a few lines hold it: `(w: np.Array) => …`. */
export function argumentText(place: Place | undefined): string | undefined {
  if (place === undefined) return undefined;
  const { file, line, column } = written(place);
  const lines = linesOf(file.replace(/^file:\/\//, ''))?.slice(line - 1, line - 1 + linesOfParameters);
  const text = lines?.join('\n').slice(column - 1);
  if (text === undefined || !call.test(text)) return undefined;
  const open = text.indexOf('(');
  return open < 0 ? undefined : text.slice(open + 1).trimStart();
}
/** Parameters that stand on more lines are named as they run. */
const linesOfParameters = 12;

/** What functions without a name are called, and what is derived from them: `grad anonymous`. */
const nameless = 'anonymous';

/** `original`: the function's own name. */
export function displayName(original: string, place: Place | undefined): string {
  if (original !== '' && !original.endsWith(nameless)) return original;
  const name = boundName(place);
  if (name !== undefined || place === undefined) return name ?? nameless;
  const { file, line } = written(place);
  return `the function at ${file.replace(/^.*[\\/]/, '')}:${line}`;
}

/** Undefined where files can't be read. */
function linesOf(file: string): readonly string[] | undefined {
  if (files.has(file)) return files.get(file);
  let lines: readonly string[] | undefined;
  try {
    lines = globalThis.process?.getBuiltinModule?.('node:fs').readFileSync(file, 'utf8').split('\n');
  } catch {
    // A bundle without its sources: the place has to do.
  }
  files.set(file, lines);
  return lines;
}
