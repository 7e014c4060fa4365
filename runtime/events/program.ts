/**
 * What one call of a compiled program does to memory, by line: computed once per program, folded in at every run.
 *
 * A program's values have half-open lives in steps of its schedule, so its peak step and the most that each place holds
 * at one time are sweeps over births and deaths. Arguments are the caller's and are counted there. A value that takes
 * over the bytes of another adds none. Depends on: event.
 */
import type { ProgramProfile } from './event.ts';

export type ProgramValue = ProgramProfile['values'][number];

export interface PlaceInProgram {
  readonly place: number;
  readonly allocations: number;
  readonly allocatedBytes: number;
  /** The most bytes of this place alive at one step. */
  readonly peakBytes: number;
  /** The most that all values of the program hold right after one of this place is born. */
  readonly inUseBytes: number;
  /** How many of the allocations are outputs of the call. */
  readonly outputs: { readonly count: number; readonly bytes: number };
}

export interface ProgramShape {
  readonly places: readonly PlaceInProgram[];
  /** Values alive at the step with the most bytes. */
  readonly aliveAtPeak: readonly ProgramValue[];
  /** The step with the most bytes, and the value whose birth reached them. */
  readonly peakStep: number;
  readonly highest: ProgramValue | undefined;
}

export function programShape(profile: ProgramProfile): ProgramShape {
  const made = profile.values.filter((value) => value.what !== 'argument');
  const { peakStep, highest } = peakOf(made);
  const heldAt = bytesByStep(made);
  return {
    places: [...byPlace(made)].map(([place, values]) => ({
      place,
      allocations: values.length,
      allocatedBytes: sum(values.map(ownBytes)),
      peakBytes: peakOf(values).bytes,
      outputs: outputsOf(values),
      inUseBytes: Math.max(0, ...values.map((value) => heldAt.get(value.born) ?? 0)),
    })),
    aliveAtPeak: made.filter((value) => value.born <= peakStep && peakStep < value.dies && ownBytes(value) > 0),
    peakStep,
    highest,
  };
}

/** Bytes alive at each step at which a value is born. */
function bytesByStep(values: readonly ProgramValue[]): ReadonlyMap<number, number> {
  const changes = values.flatMap((value) => [
    { step: value.dies, bytes: -ownBytes(value) },
    { step: value.born, bytes: ownBytes(value) },
  ]);
  changes.sort((a, b) => a.step - b.step || a.bytes - b.bytes);
  const held = new Map<number, number>();
  let now = 0;
  for (const { step, bytes } of changes) held.set(step, (now += bytes));
  return held;
}

/** The most bytes alive at one step, where a value lives from `born` up to, not including, `dies`. */
function peakOf(values: readonly ProgramValue[]): { bytes: number; peakStep: number; highest: ProgramValue | undefined } {
  const changes = values.flatMap((value) => [
    { step: value.dies, bytes: -ownBytes(value), value: undefined },
    { step: value.born, bytes: ownBytes(value), value },
  ]);
  changes.sort((a, b) => a.step - b.step || a.bytes - b.bytes);
  let now = 0;
  let best = { bytes: 0, peakStep: 0, highest: values[0] };
  for (const { step, bytes, value } of changes) {
    now += bytes;
    if (now > best.bytes) best = { bytes: now, peakStep: step, highest: value };
  }
  return best;
}

function byPlace(values: readonly ProgramValue[]): ReadonlyMap<number, readonly ProgramValue[]> {
  const places = new Map<number, ProgramValue[]>();
  for (const value of values) {
    const known = places.get(value.place);
    if (known === undefined) places.set(value.place, [value]);
    else known.push(value);
  }
  return places;
}

const ownBytes = (value: ProgramValue): number => (value.reuses === undefined ? value.bytes : 0);

function outputsOf(values: readonly ProgramValue[]): PlaceInProgram['outputs'] {
  const outputs = values.filter((value) => value.what === 'output');
  return { count: outputs.length, bytes: sum(outputs.map(ownBytes)) };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
