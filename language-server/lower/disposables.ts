/**
 * May `using` be written against the types of a program?
 *
 * Depends on: typescript.
 */
import type ts from 'typescript';

const disposables = new WeakMap<ts.Program, boolean>();

/** Do the types of this program know `Disposable`? The language's `lib` brings it, or the types of Node. */
export function knowsDisposables(program: ts.Program): boolean {
  const known = disposables.get(program);
  if (known !== undefined) return known;
  const found = program.getSourceFiles().some(({ fileName }) => /(lib\.es\w+|compatibility\/)\.?disposable\.d\.ts$/.test(fileName));
  disposables.set(program, found);
  return found;
}
