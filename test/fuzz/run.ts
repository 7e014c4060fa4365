/**
 * Runs a generated program and says what it did: its numbers, where it stopped, what it left behind, how high it rose.
 *
 * tfjs and jax-js run on their CPU backends, ours on `cpu`; each is asked, not trusted: tensors are counted by hooks on
 * the library's own allocation. A program is run once for every combination of its flags, so all its paths are seen.
 * Depends on: typescript (to strip types), the libraries themselves.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { print, type Dialect, type Printing, type Program } from './program.ts';

export interface Run {
  readonly flags: readonly boolean[];
  readonly out: readonly number[];
  /** The message of what it threw. */
  readonly error?: string;
  /** The line it was on when it threw. */
  readonly stoppedAt?: number;
  /** Lines that ran. */
  readonly reached: ReadonlySet<number>;
  /** Arrays alive at the end that were not at the start. */
  readonly leaked: number;
  readonly peakBytes: number;
}

/** What a run needs of a library. */
interface Machine {
  /** What the program's imports yield. */
  readonly module: unknown;
  /** Names that the program finds without importing them. */
  readonly globals?: Readonly<Record<string, unknown>>;
  /** Counts from zero. */
  start(): void;
  live(): number;
  peakBytes(): number;
  /** Frees what a run left, so that runs don't see each other. */
  clear(): void;
}

const require = createRequire(import.meta.url);
const machines = new Map<Dialect, Promise<Machine>>();

/** One run for each combination of flags. */
export async function runs(program: Program, printing: Printing = {}): Promise<readonly Run[]> {
  return runText(program.dialect, print(program, { ...printing, marked: true }), program.flags);
}

/** The same for text; lines that start with `at(n);` are counted. */
export async function runText(dialect: Dialect, text: string, flags: number): Promise<readonly Run[]> {
  const machine = await (machines.get(dialect) ?? open(dialect));
  const js = ts.transpileModule(text, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS } }).outputText;
  const done: Run[] = [];
  for (let bits = 0; bits < 2 ** flags; bits++) {
    const given = Array.from({ length: flags }, (_, index) => (bits & (1 << index)) !== 0);
    done.push(await once(machine, js, given));
  }
  return done;
}

async function once(machine: Machine, js: string, flags: readonly boolean[]): Promise<Run> {
  const out: number[] = [];
  const reached = new Set<number>();
  let last: number | undefined;
  const at = (line: number): void => {
    last = line;
    reached.add(line);
  };
  machine.start();
  let error: string | undefined;
  try {
    const exports: { main?: (...args: unknown[]) => unknown } = {};
    const globals = machine.globals ?? {};
    new Function('exports', 'require', 'at', ...Object.keys(globals), js)(exports, () => machine.module, at, ...Object.values(globals));
    await exports.main?.(...flags, out);
  } catch (caught) {
    error = caught instanceof Error ? caught.message : String(caught);
  }
  const run = { flags, out, reached, leaked: machine.live(), peakBytes: machine.peakBytes() };
  machine.clear();
  return error === undefined ? run : { ...run, error, ...(last === undefined ? {} : { stoppedAt: last }) };
}

function open(dialect: Dialect): Promise<Machine> {
  const opened = { tfjs, 'jax-js': jaxJs, tidemark, webgpu }[dialect]();
  machines.set(dialect, opened);
  return opened;
}

/* ---- Libraries -------------------------------------------------------------------------------------------------- */

async function tfjs(): Promise<Machine> {
  const tf = require('@tensorflow/tfjs') as typeof import('@tensorflow/tfjs');
  tf.env().set('PROD', true);
  await tf.setBackend('cpu');
  const engine = tf.engine() as unknown as { trackTensor(a: object, backend: unknown): void; state: { numBytes: number } };
  const track = engine.trackTensor.bind(engine);
  let peak = 0;
  let live = new Set<{ isDisposed: boolean; dispose(): void }>();
  engine.trackTensor = (a, backend) => {
    track(a, backend);
    live.add(a as { isDisposed: boolean; dispose(): void });
    peak = Math.max(peak, engine.state.numBytes);
  };
  let before = { tensors: 0, bytes: 0 };
  return {
    module: tf,
    start: () => {
      before = { tensors: tf.memory().numTensors, bytes: tf.memory().numBytes };
      peak = before.bytes;
      live = new Set();
    },
    live: () => tf.memory().numTensors - before.tensors,
    peakBytes: () => peak - before.bytes,
    clear: () => {
      while (tf.engine().state.activeScope !== undefined && tf.engine().state.scopeStack.length > 1) tf.engine().endScope();
      for (const tensor of live) if (!tensor.isDisposed) tensor.dispose();
    },
  };
}

/** jax-js says nothing about what is alive, and its cheap arrays hold no memory: its constructor is taught to report each array. */
async function jaxJs(): Promise<Machine> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-fuzz-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  cpSync(dirname(require.resolve('@jax-js/jax')), folder, { recursive: true, filter: (name) => !/\.c?ts$/.test(name) });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const text = readFileSync(join(folder, 'index.js'), 'utf8');
  const taught = text.replace('this.#committed = args.committed;', '$& globalThis[Symbol.for("tidemark.fuzz")]?.(this);');
  if (taught === text) throw new Error('the constructor of jax-js arrays looks different now');
  writeFileSync(join(folder, 'index.js'), taught);
  let live: Counted[] = [];
  let bytes = 0;
  let peak = 0;
  Object.assign(globalThis, { [Symbol.for('tidemark.fuzz')]: (array: Counted) => live.push(array) });
  const load = (name: string): Promise<Record<string, unknown>> =>
    import(pathToFileURL(join(folder, name)).href) as Promise<Record<string, unknown>>;
  const jax = await load('index.js');
  await (jax['init'] as (device: string) => Promise<unknown>)('cpu');
  (jax['defaultDevice'] as (device: string) => unknown)('cpu');
  const chunk = readdirSync(folder).find((name) => /^backend-.*\.js$/.test(name))!;
  const getBackend = Object.values(await load(chunk)).find((value) => typeof value === 'function' && value.name === 'getBackend') as (
    device: string,
  ) => Slots;
  const backend = getBackend('cpu');
  const slots = new Map<unknown, { references: number; bytes: number }>();
  const { malloc, incRef, decRef } = {
    malloc: backend.malloc.bind(backend),
    incRef: backend.incRef.bind(backend),
    decRef: backend.decRef.bind(backend),
  };
  backend.malloc = (size, data) => {
    const slot = malloc(size, data);
    slots.set(slot, { references: 1, bytes: size });
    bytes += size;
    peak = Math.max(peak, bytes);
    return slot;
  };
  backend.incRef = (slot) => {
    incRef(slot);
    const count = slots.get(slot);
    if (count !== undefined) count.references += 1;
  };
  backend.decRef = (slot) => {
    decRef(slot);
    const count = slots.get(slot);
    if (count === undefined || --count.references > 0) return;
    slots.delete(slot);
    bytes -= count.bytes;
  };
  const alive = (): Counted[] => live.filter(({ refCount }) => refCount > 0);
  const clear = (): void => {
    for (const array of alive()) while (array.refCount > 0) array.dispose();
    live = [];
  };
  return {
    module: jax,
    start: () => {
      clear();
      peak = bytes;
    },
    live: () => alive().length,
    peakBytes: () => peak,
    clear,
  };
}

interface Counted {
  readonly refCount: number;
  dispose(): void;
}

interface Slots {
  malloc(size: number, data?: unknown): unknown;
  incRef(slot: unknown): void;
  decRef(slot: unknown): void;
}

async function tidemark(): Promise<Machine> {
  const runtime = (await import('../../runtime/index.ts')) as unknown as {
    init(options: { device: string }): Promise<unknown>;
    memory: { stats(): { bytesInUse: number; peakBytesInUse: number }; resetPeak(): void; liveArrays(): readonly unknown[] };
  };
  await runtime.init({ device: 'cpu' });
  let before = { arrays: 0, bytes: 0 };
  return {
    module: runtime,
    start: () => {
      before = { arrays: runtime.memory.liveArrays().length, bytes: runtime.memory.stats().bytesInUse };
      runtime.memory.resetPeak();
    },
    live: () => runtime.memory.liveArrays().length - before.arrays,
    peakBytes: () => runtime.memory.stats().peakBytesInUse - before.bytes,
    clear: () => undefined,
  };
}

/** A device that knows what is alive, and refuses dead buffers as validation does. */
async function webgpu(): Promise<Machine> {
  let live = new Set<Buffer>();
  let bytes = 0;
  let peak = 0;
  interface Buffer {
    readonly size: number;
    destroy(): void;
  }
  const check = (...buffers: readonly Buffer[]): void => {
    if (buffers.some((buffer) => !live.has(buffer))) throw new Error('a destroyed buffer was used in a submit');
  };
  const device = {
    createBuffer: ({ size }: { size: number }): Buffer => {
      const buffer: Buffer = { size, destroy: () => void (live.delete(buffer) && (bytes -= size)) };
      live.add(buffer);
      bytes += size;
      peak = Math.max(peak, bytes);
      return buffer;
    },
    createCommandEncoder: () => {
      const used: Buffer[] = [];
      return { copyBufferToBuffer: (from: Buffer, _at: number, to: Buffer) => void used.push(from, to), finish: () => used };
    },
    queue: { submit: (lists: readonly (readonly Buffer[])[]) => check(...lists.flat()), writeBuffer: (buffer: Buffer) => check(buffer) },
  };
  const clear = (): void => {
    live = new Set();
    bytes = 0;
    peak = 0;
  };
  return {
    module: {},
    globals: { device, GPUBufferUsage: { COPY_SRC: 4, COPY_DST: 8 } },
    start: clear,
    live: () => live.size,
    peakBytes: () => peak,
    clear,
  };
}
