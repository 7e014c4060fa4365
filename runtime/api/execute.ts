/**
 * Runs programs on the device: checks arguments, compiles once, hands buffers over, wraps what comes back.
 *
 * Every way in ends here: eager ops, composed functions, transforms and jit. Nothing is donated before the device says
 * that the call can't fail any more. Depends on: core, ops, ir, trace, compile, device, scope.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { donatedTwice, typeError } from '../core/errors.ts';
import type { Program } from '../core/program.ts';
import type { Place } from '../core/source.ts';
import { printPlace, written } from '../core/stack.ts';
import { ConstantValue, LiteralValue, Value } from '../ops/value.ts';
import { checkProgram } from '../ir/check.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { compile } from '../compile/pipeline.ts';
import type { CompileOptions, Executable } from '../compile/executable.ts';
import type { Buffer, Device } from '../device/device.ts';
import { Tracer } from '../trace/tracer.ts';
import { DeviceArray, DonatedArray } from './array.ts';
import { device } from './current.ts';
import { kept } from './scope.ts';

/** An argument leaf of a call, and whether the call may take its buffer. */
export interface Leaf {
  readonly value: Value | number | boolean | ArrayBufferView;
  readonly path: string;
  readonly donated: boolean;
  readonly aval: KnownAval;
}

export type PlanOptions = Partial<Pick<CompileOptions, 'memory' | 'memoryBudget' | 'name' | 'paths' | 'argnums' | 'choice'>>;

export function compileProgram(program: TracedProgram, donated: readonly boolean[], options: PlanOptions = {}): Executable {
  checkProgram(program);
  return compile(program, { donated, target: device().target, written, ...options });
}

/** Arrays that a program closed over, on the device: uploaded once and kept as long as the program. */
export interface Captured {
  readonly arrays: readonly DeviceArray[];
  /** Those that were uploaded for the program, and end with it. */
  readonly own: readonly Buffer[];
  readonly device: Device;
}

export function capturesOf(program: Program): Captured {
  const target = device();
  const own: Buffer[] = [];
  const arrays = program.captures.map(({ value }): DeviceArray => {
    if (value instanceof DeviceArray) return value;
    if (value instanceof DonatedArray) return value.claim();
    if (value instanceof ConstantValue) {
      const array = kept(() => new DeviceArray(target, target.put(value.contents, value.aval as KnownAval, undefined)));
      own.push(array.buffer);
      return array;
    }
    if (value instanceof Tracer) value.ensureAlive();
    throw new Error(`internal: execute: a program captured ${String(value)}`);
  });
  return { arrays, own, device: target };
}

interface Prepared {
  readonly buffer: Buffer;
  readonly array: DeviceArray | undefined;
  readonly handle: DonatedArray | undefined;
}

/** Puts an argument on the device; arrays are there already. */
function prepare(leaf: Leaf, place: Place | undefined, uploaded: Buffer[]): Prepared {
  const { value, aval } = leaf;
  if (value instanceof DonatedArray) {
    const array = value.claim();
    return { buffer: array.buffer, array, handle: value };
  }
  if (value instanceof DeviceArray) {
    value.ensureAlive();
    return { buffer: value.buffer, array: value, handle: undefined };
  }
  const contents = hostContents(value);
  const buffer = device().put(contents, aval, place);
  uploaded.push(buffer);
  return { buffer, array: undefined, handle: undefined };
}

function hostContents(value: Exclude<Leaf['value'], DeviceArray>): Parameters<Device['put']>[0] {
  if (typeof value === 'number' || typeof value === 'boolean') return Number(value);
  if (value instanceof LiteralValue) return Number(value.literal);
  if (value instanceof ConstantValue) return value.contents;
  if (
    value instanceof Float32Array ||
    value instanceof Int32Array ||
    value instanceof Uint32Array ||
    value instanceof Uint16Array ||
    value instanceof Uint8Array
  )
    return value;
  if (value instanceof Value) {
    value.ensureAlive();
    throw typeError(`${String(value)} can't be used outside of the function that is traced`);
  }
  throw typeError('only typed arrays of 8, 16 and 32 bits go into a call');
}

/** The same buffer twice in one call, where one of them is donated: nothing has happened yet. */
function checkClashes({ leaves, captures, executable, place }: Call, prepared: readonly Prepared[]): void {
  const seen = new Map<Buffer, number>();
  const callWith = ({ place: madeAt }: Buffer) => ({
    to: executable.name || 'an operation',
    at: printPlace(place),
    madeAt: printPlace(madeAt),
  });
  leaves.forEach((leaf, k) => {
    const { buffer, array } = prepared[k]!;
    if (array === undefined) return;
    const before = seen.get(buffer);
    if (before === undefined) seen.set(buffer, k);
    else if (leaf.donated || leaves[before]!.donated)
      throw donatedTwice(
        printAval(leaf.aval),
        leaves[before]!.path,
        leaf.path,
        leaf.donated && leaves[before]!.donated ? 'donated twice' : 'donated and also read',
        callWith(buffer),
      );
  });
  captures.forEach((array) => {
    const k = seen.get(array.buffer);
    if (k !== undefined && leaves[k]!.donated)
      throw donatedTwice(
        printAval(array.aval),
        leaves[k]!.path,
        'a value that the function closes over',
        'donated and also read',
        callWith(array.buffer),
      );
  });
}

export interface Call {
  readonly executable: Executable;
  readonly leaves: readonly Leaf[];
  readonly captures: readonly DeviceArray[];
  readonly weak: readonly boolean[];
  readonly place: Place | undefined;
  /** Positions that are donated though the executable was compiled without. */
  readonly consumed?: readonly number[];
}

/** Runs; donated arrays are dead afterwards, and alive when it throws before the submit. */
export function runCall(call: Call): readonly DeviceArray[] {
  const { executable, leaves, captures, weak, place, consumed } = call;
  const target = device();
  const uploaded: Buffer[] = [];
  let submitted = false;
  try {
    const prepared = leaves.map((leaf) => prepare(leaf, place, uploaded));
    for (const array of captures) array.ensureAlive();
    checkClashes(call, prepared);
    const buffers = [...prepared.map((p) => p.buffer), ...captures.map((array) => array.buffer)];
    const results = target.run(executable, buffers, place, {
      ...(consumed && consumed.length > 0 ? { consumed } : {}),
      beforeSubmit: () => {
        submitted = true;
      },
    });
    prepared.forEach(({ array, handle }, k) => {
      if (!leaves[k]!.donated) return;
      handle?.spend();
      array?.markDonated(executable.name || 'an operation', leaves[k]!.path, place);
    });
    return results.map((buffer, k) => new DeviceArray(target, buffer, weak[k] ?? false));
  } catch (fault) {
    if (submitted) leaves.forEach((leaf) => markIfDead(leaf, executable, place));
    throw fault;
  } finally {
    for (const buffer of uploaded) if (buffer.dead === undefined) target.free(buffer, 'program');
  }
}

function markIfDead(leaf: Leaf, executable: Executable, place: Place | undefined): void {
  const array = leaf.value instanceof DonatedArray ? leaf.value.source : leaf.value;
  if (leaf.donated && array instanceof DeviceArray && array.buffer.dead !== undefined) array.markDonated(executable.name, leaf.path, place);
}

/** Another handle of the same buffer: an unchanged input that is returned is forwarded, and nothing is copied. */
export function sharedHandle(array: DeviceArray): DeviceArray {
  const aval = array.buffer.aval;
  const variable = { aval };
  const program: TracedProgram = { inputs: [variable], captures: [], equations: [], outputs: [variable], name: '' };
  const [handle] = device().run(compileProgram(program, [false]), [array.buffer], array.buffer.place);
  return new DeviceArray(array.device, handle!, array.aval.weak === true);
}
