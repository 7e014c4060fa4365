/**
 * The command line `tidemark`: picks the command, prints what went wrong in one plain sentence, ends with the contract's code.
 *
 * Commands are loaded when they are called, so `tidemark profile` doesn't wait for the analysis. Depends on: the commands.
 */
import { realpathSync } from 'node:fs';
import * as nodeModule from 'node:module';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Cancellation } from '../measure/run.ts';
import { exitCodes, fileFault, processIO, UsageError, version } from './io.ts';
import type { IO } from './io.ts';
import { paint } from './text.ts';

type Command = (argv: readonly string[], io: IO, token: Cancellation) => Promise<number>;

const commands: Readonly<Record<string, { readonly help: string; readonly load: () => Promise<Command> }>> = {
  check: { help: 'analyse files without running them', load: async () => (await import('./check.ts')).checkCommand },
  profile: { help: 'run a program and measure its memory', load: async () => (await import('./profile.ts')).profileCommand },
  collect: { help: 'make a profile of what a program left', load: async () => (await import('./collect.ts')).collectCommand },
  show: { help: 'show a saved profile', load: async () => (await import('./show.ts')).showCommand },
  compare: { help: 'show what changed between two profiles', load: async () => (await import('./compare.ts')).compareCommand },
  explain: {
    help: 'show trace, IR, schedule and plan of compiled functions',
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  plan: { help: 'pack buffers with lifetimes into one arena', load: async () => (await import('./plan.ts')).planCommand },
  lsp: { help: 'start the language server', load: async () => (await import('./lsp.ts')).lspCommand },
};

export async function main(argv: readonly string[], io: IO, token: Cancellation): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version' || name === '-v') {
    io.out(`${version()}\n`);
    return exitCodes.fine;
  }
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    io.out(helpOfAll());
    return name === undefined ? exitCodes.usage : exitCodes.fine;
  }
  const command = commands[name];
  try {
    if (command === undefined) throw new UsageError(`there is no command \`${name}\``, `use one of ${Object.keys(commands).join(', ')}`);
    return await (
      await command.load()
    )(rest, io, token);
  } catch (error) {
    const fault = error instanceof UsageError ? error : fileFault(error);
    if (fault === undefined) throw error;
    io.err(`${paint(io.color)('red', 'error')}: ${fault.message}\nfix: ${fault.fix}\n`);
    return exitCodes.usage;
  }
}

function helpOfAll(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const rows = Object.entries(commands).map(([name, { help }]) => `  ${name.padEnd(width)}  ${help}`);
  return [
    'usage: tidemark COMMAND [options]',
    '',
    'How high the memory of array code rises, why, and what to change.',
    '',
    ...rows,
    '',
    '`tidemark COMMAND --help` says more.',
    '',
  ].join('\n');
}

/** Ctrl-C ends the run, not this process: the profile up to that point is still written. A second one ends both. */
function interruption(): Cancellation {
  const listeners = new Set<() => void>();
  let requested = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // With nothing to bring to an end there is nothing to wait for.
      if (requested || listeners.size === 0) process.exit(130);
      requested = true;
      for (const listener of listeners) listener();
    });
  }
  return {
    get isCancellationRequested() {
      return requested;
    },
    onCancellationRequested(listener) {
      listeners.add(listener);
      return { dispose: () => void listeners.delete(listener) };
    },
  };
}

/** Runs the command line of this process. */
export async function start(): Promise<void> {
  // Newer Nodes keep what they compiled: the commands are loaded after this.
  (nodeModule as { readonly enableCompileCache?: () => unknown }).enableCompileCache?.();
  try {
    process.exitCode = await main(process.argv.slice(2), processIO(), interruption());
    // A server holds its streams open for as long as it may be asked something.
    if (process.argv[2] === 'lsp') process.exit();
  } catch (error) {
    process.stderr.write(
      `internal: ${error instanceof Error ? error.message : String(error)}\nfix: please report it with the command that you ran\n`,
    );
    if (process.env['TIDEMARK_DEBUG'] !== undefined && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
    process.exitCode = exitCodes.usage;
  }
}

/** Only as the program that was started; a test imports `main`. */
const started = process.argv[1];
if (started !== undefined && isThisFile(started)) await start();

function isThisFile(path: string): boolean {
  try {
    return realpathSync(path) === realpathSync(fileURLToPath(import.meta.url));
  } catch {
    return false;
  }
}
