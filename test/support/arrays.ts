/**
 * Arrays on the cpu device for tests, and comparisons of their contents.
 *
 * Depends on: runtime.
 */
import assert from 'node:assert/strict';
import { useDevice } from '../../runtime/api/current.ts';
import '../../runtime/api/eager.ts';
import type { Array as Value, Contents } from '../../runtime/ops/value.ts';
import type { Device } from '../../runtime/device/device.ts';
import { cpuDevice } from './gpu.ts';

/** A fresh cpu device, which is in use from now on. */
export function onCpu(): Device {
  const device = cpuDevice();
  useDevice(device);
  return device;
}

export const numbersOf = (x: Value): readonly number[] => [...x.dataSync()];

/** Numbers that look random and are the same in every run. */
export function numbers(count: number, seed: number, least = -1, most = 1): number[] {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return least + ((most - least) * state) / 2 ** 32;
  });
}

const flat = (x: Contents): readonly (number | boolean)[] => (typeof x === 'object' ? x.flatMap(flat) : [x]);

export function near(found: readonly number[], expected: readonly number[], tolerance: number, what: string): void {
  assert.equal(found.length, expected.length, `${what}: ${found.length} elements, expected ${expected.length}`);
  found.forEach((value, k) => {
    const wanted = expected[k]!;
    if (Object.is(value, wanted) || value === wanted || (Number.isNaN(value) && Number.isNaN(wanted))) return;
    const distance = Math.abs(value - wanted);
    assert.ok(
      distance <= tolerance * Math.max(1, Math.abs(wanted)),
      `${what}: element ${k} is ${value}, expected ${wanted}\nfound    ${found.join(' ')}\nexpected ${expected.join(' ')}`,
    );
  });
}

/** Contents as plain numbers, whatever the nesting. */
export const flatNumbers = (x: Contents): readonly number[] => flat(x).map(Number);
