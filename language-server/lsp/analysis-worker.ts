/**
 * The thread in which analysis runs: whatever a file costs, the server goes on answering.
 *
 * Sends a beat while its loop turns, so that the other side can tell slow from stuck. Depends on: workspace, remote-analysis.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { createWorkspace } from '../workspace.ts';
import { beatEveryMs, type FromThread, type ToThread } from './remote-analysis.ts';
import type { CancelToken } from './sources.ts';

const { folder } = workerData as { readonly folder: string };
const port = parentPort!;
const workspace = createWorkspace({ cwd: folder });
const say = (message: FromThread): void => port.postMessage(message);

setInterval(() => say({ kind: 'beat' }), beatEveryMs).unref();

port.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'text':
      return workspace.setText(message.file, message.text);
    case 'files':
      return workspace.filesChanged(message.files);
    case 'settings':
      return workspace.setSettings(message.settings);
    case 'ask':
      return void answer(message);
  }
});

async function answer({ id, question, file, position, cancelled, name = '' }: Extract<ToThread, { kind: 'ask' }>): Promise<void> {
  const flag = new Int32Array(cancelled);
  const token: CancelToken = {
    get isCancelled() {
      return Atomics.load(flag, 0) !== 0;
    },
    onCancel: () => undefined,
  };
  try {
    say({ kind: 'answer', id, value: await ask(token, question, file, { ...position, name }) });
  } catch (error) {
    say({
      kind: 'fault',
      id,
      cancelled: token.isCancelled,
      words: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
}

function ask(
  token: CancelToken,
  question: Extract<ToThread, { kind: 'ask' }>['question'],
  file: string,
  position: { line: number; column: number; name: string },
): Promise<unknown> {
  switch (question) {
    case 'diagnostics':
      return workspace.diagnostics(token, file);
    case 'functions':
      return workspace.functions(token, file);
    case 'hover':
      return workspace.hover(token, file, position);
    case 'life':
      return workspace.life(token, file, position);
    case 'occurrences':
      return workspace.occurrences(token, file, position);
    case 'explain':
      return workspace.explain(token, file, position);
  }
}
