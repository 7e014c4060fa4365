/**
 * Watches the tensors of TensorFlow.js, on any of its backends and however many copies of it are loaded.
 *
 * All copies share one engine on a global name, so the engine is met when it is put there and its own bookkeeping is
 * followed: a tensor's bytes are what the engine's `numBytes` went up by, and it is free when the engine counts it down.
 * So our figures are those of `tf.memory()`, and no file of the library is touched. Depends on: events, recorder.
 */
import type { Recorder, Watched } from './recorder.ts';
import type { Stack } from './stack.ts';

interface Tensor {
  readonly id: number;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly kept?: boolean;
}

interface EngineState {
  numBytes: number;
  numTensors: number;
  readonly scopeStack: readonly Scope[];
}

const begunKey = Symbol('tidemark.begun');

/** A scope of the engine. One that the library itself began has a note of when, and of the stack that it began under. */
interface Scope {
  readonly name: string;
  [begunKey]?: { readonly total: number; stack: Stack | undefined };
}

/** Scopes that lie within one call of the library: an operation, and the backward pass. */
const isOwn = ({ name }: Scope): boolean => name.endsWith('__op') || name === 'backward';

/** What is used of the engine; checked before anything is wrapped. */
interface Engine {
  state: EngineState;
  readonly backendName?: string;
  trackTensor(tensor: Tensor, backend: unknown): void;
  disposeTensor(tensor: Tensor): void;
  startScope(name?: string): void;
  endScope(result?: unknown): unknown;
  makeTensor(...args: unknown[]): Tensor;
}

const globalName = '_tfengine';

/** Watches the engine that is there, or the first that is put there. */
export function watchTfjs(recorder: Recorder, target: object): void {
  const holder: { [globalName]?: unknown } = target;
  let engine: unknown = holder[globalName];
  if (isEngine(engine)) follow(engine, recorder);
  Object.defineProperty(target, globalName, {
    configurable: true,
    enumerable: true,
    get: () => engine,
    set(value: unknown) {
      engine = value;
      if (isEngine(value)) follow(value, recorder);
    },
  });
}

function isEngine(value: unknown): value is Engine {
  if (typeof value !== 'object' || value === null || !('state' in value)) return false;
  return ['trackTensor', 'disposeTensor', 'startScope', 'endScope', 'makeTensor'].every(
    (name) => typeof (value as Record<string, unknown>)[name] === 'function',
  );
}

function follow(engine: Engine, recorder: Recorder): void {
  const known = new WeakMap<Tensor, { readonly id: number; readonly watched: Watched }>();
  const { trackTensor, disposeTensor, startScope, endScope, makeTensor } = engine;
  let ending = false;
  let told: string | undefined;

  function tellDevice(): void {
    const name = engine.backendName ?? 'cpu';
    if (told === name) return;
    told = name;
    const device = name === 'webgpu' || name === 'webgl' || name === 'wasm' ? name : 'cpu';
    recorder.emit({
      kind: 'device',
      at: recorder.now(),
      device,
      adapter: `tfjs ${name}`,
      software: device === 'cpu' || device === 'wasm',
      layer: 'tfjs',
    });
  }

  /**
   * Within a call of the library that entered no function of the person's, the person's part of the stack stays as it is:
   * a backward pass makes dozens of tensors under one line, and its deep stack is looked at once.
   */
  function placeOf(below: (...args: never[]) => unknown): number {
    const { total } = recorder.calls;
    const begun = engine.state.scopeStack?.find((scope) => scope[begunKey]?.total === total)?.[begunKey];
    if (begun === undefined) return recorder.carriedStack(below).place;
    begun.stack ??= recorder.carriedStack(below);
    return begun.stack.place;
  }

  function born(tensor: Tensor, bytes: number, below: (...args: never[]) => unknown): void {
    tellDevice();
    const id = recorder.nextId();
    const place = placeOf(below);
    recorder.emit({
      kind: 'allocate',
      at: recorder.now(),
      id,
      bytes,
      place,
      layer: 'tfjs',
      what: 'array',
      shape: [...tensor.shape],
      dtype: tensor.dtype,
    });
    // The engine goes on counting a tensor that the collector took, so this is a leak and not a free.
    const watched = recorder.watch(tensor, () =>
      recorder.emit({ kind: 'mark', at: recorder.now(), name: 'leak', text: 'a tensor was collected without being disposed', id }),
    );
    known.set(tensor, { id, watched });
  }

  engine.trackTensor = function tidemarkTrack(tensor, backend) {
    const before = engine.state.numBytes;
    trackTensor.call(engine, tensor, backend);
    // Strings get their bytes when their values are written, in makeTensor.
    if (tensor.dtype !== 'string') born(tensor, engine.state.numBytes - before, tidemarkTrack);
  };

  engine.makeTensor = function tidemarkMake(...args) {
    const before = engine.state.numBytes;
    const tensor = makeTensor.apply(engine, args);
    if (tensor.dtype === 'string' && !known.has(tensor)) born(tensor, engine.state.numBytes - before, tidemarkMake);
    return tensor;
  };

  engine.disposeTensor = function tidemarkDispose(tensor) {
    const before = engine.state.numTensors;
    disposeTensor.call(engine, tensor);
    const own = known.get(tensor);
    if (own === undefined || engine.state.numTensors >= before) return;
    known.delete(tensor);
    recorder.forget(own.watched);
    recorder.emit({ kind: 'free', at: recorder.now(), id: own.id, how: ending ? 'scope' : 'dispose' });
  };

  engine.startScope = function tidemarkStartScope(name) {
    startScope.call(engine, name);
    const scope = engine.state.scopeStack?.at(-1);
    if (scope !== undefined && isOwn(scope)) scope[begunKey] = { total: recorder.calls.total, stack: undefined };
  };

  engine.endScope = function tidemarkEndScope(result) {
    ending = true;
    try {
      return endScope.call(engine, result);
    } finally {
      ending = false;
    }
  };
}
