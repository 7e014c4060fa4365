/**
 * Runs one program in a process group of its own, and ends the whole group: by itself, in time, or when told to.
 *
 * The group is what keeps a cancelled run from leaving workers behind. A guard outside the group ends it when this
 * process is killed, so an editor that crashes leaves no program running. A program that fills the machine's memory is
 * stopped before the kernel does it. Depends on: node.
 */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Cancellation {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): void };
}

/** Where a stream of the program goes: a descriptor of ours, or a function that takes the bytes. */
export type Destination = number | ((chunk: Uint8Array) => void);

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number | undefined;
  readonly memoryLimitBytes: number | undefined;
  readonly stdin: 'inherit' | 'ignore';
  readonly stdout: Destination;
  readonly stderr: Destination;
}

export type Ending =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timedOut' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'outOfMemory'; readonly bytes: number }
  | { readonly kind: 'notStarted'; readonly reason: string };

const watchEveryMs = 250;

export function runChild(options: ChildOptions, token: Cancellation): Promise<Ending> {
  return new Promise((resolve) => {
    if (token.isCancellationRequested) return resolve({ kind: 'cancelled' });
    const child = spawn(options.command, [...options.args], {
      cwd: options.cwd,
      env: options.env as NodeJS.ProcessEnv,
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: [options.stdin, toStdio(options.stdout), toStdio(options.stderr)],
    });
    let ended: Ending | undefined;
    const end = (ending: Ending): void => {
      ended ??= ending;
      killGroup(child);
    };
    forward(child.stdout, options.stdout);
    forward(child.stderr, options.stderr);
    const guard = child.pid === undefined ? undefined : guardGroup(child.pid);
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(() => end({ kind: 'timedOut' }), options.timeoutMs);
    const watchdog = watchMemory(child, options.memoryLimitBytes, (bytes) => end({ kind: 'outOfMemory', bytes }));
    const cancelling = token.onCancellationRequested(() => end({ kind: 'cancelled' }));
    const settle = (ending: Ending): void => {
      clearTimeout(timer);
      clearInterval(watchdog);
      cancelling.dispose();
      // What the program started and left behind goes with it.
      killGroup(child);
      guard?.stdin?.end('done\n');
      resolve(ended ?? ending);
    };
    child.once('error', (error) => settle({ kind: 'notStarted', reason: error.message }));
    child.once('close', (code, signal) =>
      settle(signal === null ? { kind: 'exited', exitCode: code ?? 0 } : { kind: 'signalled', signal }),
    );
    // A grandchild that holds the pipes open must not keep the run from ending.
    child.once('exit', () => setTimeout(() => killGroup(child), 200).unref());
  });
}

const toStdio = (destination: Destination): number | 'pipe' => (typeof destination === 'number' ? destination : 'pipe');

function forward(stream: NodeJS.ReadableStream | null, destination: Destination): void {
  if (stream === null || typeof destination === 'number') return;
  stream.on('data', (chunk: Buffer) => destination(chunk));
}

export interface Killing {
  readonly platform: string;
  kill(pid: number, signal: 'SIGKILL'): void;
  run(command: string, args: readonly string[]): void;
}

const thisMachine: Killing = {
  platform: process.platform,
  kill: (pid, signal) => process.kill(pid, signal),
  run: (command, args) => void spawnSync(command, [...args], { windowsHide: true, stdio: 'ignore' }),
};

/** Ends the process and all that it started. */
export function killGroup(child: Pick<ChildProcess, 'pid'>, machine: Killing = thisMachine): void {
  if (child.pid === undefined) return;
  if (machine.platform === 'win32') return machine.run('taskkill', ['/PID', String(child.pid), '/T', '/F']);
  try {
    machine.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nobody is left in the group.
  }
}

/**
 * What waits outside of the group for a word that never comes when this process is killed, and ends the group then: a shell
 * with the form of `kill` that every shell knows, or on Windows a Node, since nothing there reads a line and goes on.
 */
export function guardCommand(pid: number, platform: string, node: string): { readonly command: string; readonly args: readonly string[] } {
  return platform === 'win32'
    ? { command: node, args: ['-e', windowsGuard, String(pid)] }
    : { command: '/bin/sh', args: ['-c', 'read -r word || kill -s KILL -- "-$0"', String(pid)] };
}

const windowsGuard = `
let word = false;
process.stdin.on('data', () => (word = true));
process.stdin.on('end', () => word || require('node:child_process').spawnSync('taskkill', ['/PID', process.argv[1], '/T', '/F'], { windowsHide: true }));
`;

function guardGroup(pid: number): ChildProcess {
  const { command, args } = guardCommand(pid, process.platform, process.execPath);
  const guard = spawn(command, [...args], {
    detached: true,
    windowsHide: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    // In the editor this process may be one that becomes a Node only when it is told to.
    env: { ...process.env, ELECTRON_RUN_AS_NODE: '1', NODE_OPTIONS: '' },
  });
  guard.on('error', () => undefined);
  guard.stdin?.on('error', () => undefined);
  guard.unref();
  (guard.stdin as { unref?: () => void } | null)?.unref?.();
  return guard;
}

function watchMemory(child: ChildProcess, limit: number | undefined, exceeded: (bytes: number) => void): NodeJS.Timeout | undefined {
  if (limit === undefined || child.pid === undefined || process.platform !== 'linux') return undefined;
  const { pid } = child;
  const watch = setInterval(() => {
    const bytes = residentBytes(pid);
    if (bytes !== undefined && bytes > limit) exceeded(bytes);
  }, watchEveryMs);
  watch.unref();
  return watch;
}

/** Resident bytes of a process, from the kernel's own account. */
function residentBytes(pid: number): number | undefined {
  try {
    const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  } catch {
    return undefined;
  }
}
