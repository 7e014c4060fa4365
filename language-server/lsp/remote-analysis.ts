/**
 * Analysis in a thread of its own, seen from the server: a file that it cannot get through stops nothing else.
 *
 * The thread sends beats. When they stay out, it is ended and started anew with the texts it had, and the text that it
 * was stuck on is not asked about again until it changes. Cancelling sets a flag that the thread reads between slices.
 * Depends on: sources, protocol, node.
 */
import type { Worker } from 'node:worker_threads';
import type { Diagnostic, Explanation, FunctionFact, Life, Occurrence, Position, ServerSettings } from '../protocol.ts';
import type { Analysis, CancelToken } from './sources.ts';

export type ToThread =
  | { readonly kind: 'text'; readonly file: string; readonly text: string | undefined }
  | { readonly kind: 'files'; readonly files: readonly string[] }
  | { readonly kind: 'settings'; readonly settings: ServerSettings }
  | {
      readonly kind: 'ask';
      readonly id: number;
      readonly question: 'diagnostics' | 'functions' | 'hover' | 'life' | 'occurrences' | 'explain';
      readonly file: string;
      readonly position: Position;
      /** The function that is asked about. */
      readonly name?: string;
      readonly cancelled: SharedArrayBuffer;
    };

export type FromThread =
  | { readonly kind: 'beat' }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'fault'; readonly id: number; readonly cancelled: boolean; readonly words: string };

export const beatEveryMs = 500;

interface Pending {
  readonly file: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface RemoteOptions {
  readonly start: () => Pick<Worker, 'on' | 'postMessage' | 'terminate' | 'unref'>;
  /** How much processor time may pass without a beat before the thread counts as stuck: a busy machine is not a fault. */
  readonly patienceMs: number;
  /** Processor time of this process so far. */
  readonly processorMs: () => number;
  readonly log: (words: string) => void;
}

export function remoteAnalysis({ start, patienceMs, processorMs, log }: RemoteOptions): Analysis {
  const texts = new Map<string, string>();
  const pending = new Map<number, Pending>();
  /** Texts that the thread was stuck on. */
  const tooHard = new Map<string, string | undefined>();
  let settings: ServerSettings = {};
  let thread: ReturnType<RemoteOptions['start']> | undefined;
  let watch: NodeJS.Timeout | undefined;
  let heard = 0;
  let nextId = 0;

  const running = (): NonNullable<typeof thread> => {
    if (thread !== undefined) return thread;
    const made = start();
    thread = made;
    heard = processorMs();
    made.on('message', (message: FromThread) => hear(message));
    made.on('error', (error: Error) => lose(made, error.stack ?? error.message));
    made.on('exit', () => lose(made, 'the analysis ended'));
    made.postMessage({ kind: 'settings', settings } satisfies ToThread);
    for (const [file, text] of texts) made.postMessage({ kind: 'text', file, text } satisfies ToThread);
    return made;
  };
  const say = (message: ToThread): void => thread?.postMessage(message);

  function hear(message: FromThread): void {
    heard = processorMs();
    if (message.kind === 'beat') return;
    const asked = pending.get(message.id);
    pending.delete(message.id);
    if (message.kind === 'answer') asked?.resolve(message.value);
    else asked?.reject(new Error(message.words));
  }

  /** The thread is gone: what was asked stays unanswered, and the next question starts another. */
  function lose(lost: NonNullable<typeof thread>, words: string): void {
    if (thread !== lost) return;
    thread = undefined;
    const unanswered = [...pending.values()];
    pending.clear();
    for (const { reject } of unanswered) reject(new Error(words));
  }

  function look(): void {
    if (pending.size === 0) {
      clearInterval(watch);
      watch = undefined;
      return;
    }
    if (thread === undefined || processorMs() - heard < patienceMs) return;
    const stuck = thread;
    const { file } = [...pending.values()][0]!;
    tooHard.set(file, texts.get(file));
    log(
      `analysis of ${file} took ${Math.round(patienceMs / 1000)} s of processor time in one piece and was given up until the file changes`,
    );
    lose(stuck, 'the analysis was given up');
    void stuck.terminate();
  }

  function ask<T>(
    token: CancelToken,
    question: Extract<ToThread, { kind: 'ask' }>['question'],
    file: string,
    position: Position,
    otherwise: T,
    name?: string,
  ): Promise<T> {
    if (tooHard.has(file)) {
      if (tooHard.get(file) === texts.get(file)) return Promise.resolve(otherwise);
      tooHard.delete(file);
    }
    const cancelled = new SharedArrayBuffer(4);
    token.onCancel(() => Atomics.store(new Int32Array(cancelled), 0, 1));
    const id = nextId++;
    const asked = new Promise<T>((resolve, reject) => pending.set(id, { file, resolve: (value) => resolve(value as T), reject }));
    const to = running();
    if (pending.size === 1) heard = processorMs();
    to.postMessage({ kind: 'ask', id, question, file, position, cancelled, ...(name === undefined ? {} : { name }) } satisfies ToThread);
    watch ??= setInterval(look, beatEveryMs);
    return asked;
  }

  const nowhere: Position = { line: 1, column: 1 };
  return {
    setText(file, text) {
      if (text === undefined) texts.delete(file);
      else texts.set(file, text);
      say({ kind: 'text', file, text });
    },
    filesChanged: (files) => say({ kind: 'files', files }),
    setSettings(next) {
      settings = next;
      say({ kind: 'settings', settings });
    },
    diagnostics: (token, file) => ask<readonly Diagnostic[]>(token, 'diagnostics', file, nowhere, []),
    functions: (token, file) => ask<readonly FunctionFact[]>(token, 'functions', file, nowhere, []),
    hover: (token, file, position) => ask<string | undefined>(token, 'hover', file, position, undefined),
    life: (token, file, position) => ask<Pick<Life, 'name' | 'ranges'> | undefined>(token, 'life', file, position, undefined),
    occurrences: (token, file, position) => ask<readonly Occurrence[] | undefined>(token, 'occurrences', file, position, undefined),
    explain: (token, file, { name, line }) => ask<Explanation | undefined>(token, 'explain', file, { line, column: 1 }, undefined, name),
    dispose() {
      clearInterval(watch);
      const ending = thread;
      thread = undefined;
      void ending?.terminate();
    },
  };
}
