/**
 * One random program, run in every way: op by op, compiled, donating, and on WebGPU.
 *
 * Op by op and compiled give the same numbers; donating or not gives the same bits and a peak that is not higher, and the
 * planned peak is the measured one. What the runtime refuses with an error of its own is rejected, and has to be refused by
 * all ways alike. Every plan is judged when it is emitted. Depends on: runtime, recipe.
 */
import { useDevice } from '../../../runtime/api/current.ts';
import type { Device, TypedArray } from '../../../runtime/device/device.ts';
import { jit, np, scope, TidemarkError, type Array as A } from '../../../runtime/index.ts';
import { contentsOf, programOf, type Recipe } from './recipe.ts';

export type Verdict =
  | { readonly kind: 'ran'; readonly steps: readonly string[] }
  | { readonly kind: 'rejected'; readonly why: string }
  | { readonly kind: 'wrong'; readonly what: string };

export interface Devices {
  readonly cpu: Device;
  /** Absent: the program is run on cpu only. */
  readonly gpu: Device | undefined;
}

interface Outcome {
  readonly contents: readonly TypedArray[];
  readonly peakBytes: number;
}

const inputsOf = (recipe: Recipe): A[] => recipe.inputs.map((shape, i) => np.array(contentsOf(recipe, i)).reshape([...shape]));

async function outcomeOn(device: Device, recipe: Recipe, call: (...inputs: A[]) => A[]): Promise<Outcome> {
  useDevice(device);
  const before = device.allocator.stats().bytesInUse;
  const inputs = scope(() => inputsOf(recipe));
  device.allocator.resetPeak();
  const outputs = scope(() => call(...inputs));
  const peakBytes = device.allocator.stats().peakBytesInUse - before;
  const contents = await Promise.all(outputs.map((output) => output.data()));
  for (const array of [...inputs, ...outputs]) array.dispose();
  return { contents, peakBytes };
}

/** Programs in which a rounding can become a jump: an order, a comparison, a whole number. */
const jumps = new Set(['where', 'sort', 'argmax', 'integers', 'cond', 'grad of cond', 'max', 'maximum', 'clip', 'relu', 'abs']);

export async function check(recipe: Recipe, { cpu, gpu }: Devices): Promise<Verdict> {
  const ran: string[] = [];
  const program = programOf(recipe, (step) => ran.push(step));
  const donateArgnums = recipe.donated;
  let eager: Outcome;
  try {
    eager = await outcomeOn(cpu, recipe, program);
  } catch (fault) {
    if (!(fault instanceof TidemarkError || fault instanceof TypeError)) return { kind: 'wrong', what: `op by op: ${String(fault)}` };
    const why = fault instanceof TidemarkError ? fault.code : fault.message.slice(0, 60);
    useDevice(cpu);
    const alike = await outcomeOn(cpu, recipe, jit(program)).then(
      () => 'compiled it ran',
      (other: unknown) =>
        other instanceof Error && other.constructor === fault.constructor ? undefined : `compiled it failed with ${String(other)}`,
    );
    return alike === undefined ? { kind: 'rejected', why } : { kind: 'wrong', what: `op by op: ${fault.message}; ${alike}` };
  }
  const steps = [...ran];
  try {
    const jitted = jit(program, { memory: 'fast' });
    const donating = jit(program, { donateArgnums, memory: 'fast' });
    const compiled = await planned(cpu, recipe, jitted);
    const faults = [...compare('compiled', compiled, eager, 1e-5), ...(await alikeWith(cpu, recipe, compiled, donating))];
    if (gpu !== undefined) {
      const plain = await outcomeOn(gpu, recipe, jit(program, { memory: 'fast' }));
      if (!steps.some((step) => jumps.has(step))) faults.push(...compare('on WebGPU', plain, eager, 2e-3));
      const given = await outcomeOn(gpu, recipe, quietly(jit(program, { donateArgnums, memory: 'fast' })));
      faults.push(...same('donating on WebGPU', given, plain));
    }
    return faults.length === 0 ? { kind: 'ran', steps } : { kind: 'wrong', what: faults.join('; ') };
  } catch (fault) {
    return { kind: 'wrong', what: `compiled: ${fault instanceof Error ? `${fault.name} ${fault.message}` : String(fault)}` };
  }
}

type Jitted = ReturnType<typeof jit<A[], A[]>>;

/** Runs, and finds that the peak is the one that was promised: at the second call, when what was closed over is there. */
async function planned(device: Device, recipe: Recipe, f: Jitted): Promise<Outcome> {
  useDevice(device);
  await outcomeOn(device, recipe, quietly(f));
  const outcome = await outcomeOn(device, recipe, quietly(f));
  const inputs = scope(() => inputsOf(recipe));
  const { peakBytes: promised, argumentBytes } = f.lower(...inputs);
  const closedOver = argumentBytes - inputs.reduce((sum, { nbytes }) => sum + Math.ceil(nbytes / 256) * 256, 0);
  for (const input of inputs) input.dispose();
  if (outcome.peakBytes + closedOver !== promised)
    throw new Error(`${promised} bytes were planned, ${outcome.peakBytes + closedOver} were in use`);
  return outcome;
}

async function alikeWith(device: Device, recipe: Recipe, one: Outcome, donating: Jitted): Promise<readonly string[]> {
  const other = await planned(device, recipe, donating);
  return [
    ...same('donating', other, one),
    ...(other.peakBytes > one.peakBytes ? [`donating needs ${other.peakBytes} bytes, not ${one.peakBytes}`] : []),
  ];
}

/** Without the warnings of donations that have no use. */
const quietly =
  (f: Jitted) =>
  (...inputs: A[]): A[] => {
    const former = console.warn;
    console.warn = () => undefined;
    try {
      return f(...inputs);
    } finally {
      console.warn = former;
    }
  };

function same(what: string, found: Outcome, expected: Outcome): readonly string[] {
  return expected.contents.flatMap((array, k) =>
    array.every((value, i) => Object.is(value, found.contents[k]![i])) ? [] : [`${what}: other bits in result ${k}`],
  );
}

function compare(what: string, found: Outcome, expected: Outcome, tolerance: number): readonly string[] {
  return expected.contents.flatMap((array, k) => {
    const scale = Math.max(1, ...Array.from(array, Math.abs).filter(Number.isFinite));
    const at = array.findIndex((value, i) => {
      const other = found.contents[k]![i]!;
      return !(Object.is(value, other) || value === other || Math.abs(value - other) <= tolerance * scale);
    });
    return at < 0 ? [] : [`${what}: result ${k}[${at}] is ${found.contents[k]![at]}, op by op ${array[at]}`];
  });
}

/** The smallest recipe that still goes wrong: instructions left out, one after the other. */
export async function smallest(recipe: Recipe, devices: Devices): Promise<Recipe> {
  let least = recipe;
  for (let shrunk = true; shrunk;) {
    shrunk = false;
    const candidates: readonly Recipe[] = [
      ...(least.differentiated ? [{ ...least, differentiated: false }] : []),
      ...least.donated.map((_, i) => ({ ...least, donated: least.donated.toSpliced(i, 1) })),
      ...least.instructions.map((_, i) => ({ ...least, instructions: least.instructions.toSpliced(i, 1) })),
    ];
    for (const candidate of candidates) {
      if (candidate.instructions.length === 0 || (await check(candidate, devices)).kind !== 'wrong') continue;
      least = candidate;
      shrunk = true;
      break;
    }
  }
  return least;
}
