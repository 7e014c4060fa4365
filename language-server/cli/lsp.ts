/**
 * `tidemark lsp --stdio`: the language server for any editor that speaks the protocol.
 *
 * Depends on: main (the server), args.
 */
import type { Cancellation } from '../measure/run.ts';
import { helpText, readArguments } from './args.ts';
import type { OptionTable } from './args.ts';
import { exitCodes, UsageError } from './io.ts';
import type { IO } from './io.ts';

const options: OptionTable = {
  stdio: { help: 'speak on standard input and output' },
  'node-ipc': { help: 'speak on the channel of a Node that forked this' },
  socket: { value: 'PORT', help: 'connect to a port' },
  help: { help: 'show this' },
};

export async function lspCommand(argv: readonly string[], io: IO, token: Cancellation): Promise<number> {
  const args = readArguments('lsp', options, argv);
  if (args.has('help')) {
    io.out(helpText('tidemark lsp --stdio', 'Starts the language server.', options));
    return exitCodes.fine;
  }
  if (!args.has('stdio') && !args.has('node-ipc') && !args.has('socket'))
    throw new UsageError('no way to speak was chosen', 'use `tidemark lsp --stdio`');
  // The server reads the same arguments, and ends the process when the client says so.
  await import('../main.ts');
  return new Promise((settle) => token.onCancellationRequested(() => settle(exitCodes.fine)));
}
