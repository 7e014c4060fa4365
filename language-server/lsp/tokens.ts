/**
 * Waiting for answers: tokens that cancel it, and the time after which an answer comes without what is still missing.
 *
 * Depends on: sources, vscode-languageserver.
 */
import type { CancellationToken } from 'vscode-languageserver';
import type { CancelToken } from './sources.ts';

/** Editors wait for every answer before they show any: an analysis that takes longer is answered without. */
export function soon<T>(answer: Promise<T>, otherwise: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => (timer = setTimeout(() => resolve(otherwise()), 1500)));
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

export function tokenOf(token: CancellationToken): CancelToken {
  return {
    get isCancelled() {
      return token.isCancellationRequested;
    },
    onCancel: (listener) => void (token.isCancellationRequested ? listener() : token.onCancellationRequested(listener)),
  };
}

/** Runs an answer; a fault is logged with where it came from, and answered with `otherwise`. */
export type Guarded = <T>(where: string, otherwise: T, answer: () => T | Promise<T>) => Promise<T>;
