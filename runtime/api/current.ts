/**
 * The device that programs run on: set by `init`, or started at the first need.
 *
 * Depends on: device.
 */
import { deviceNotReady } from '../core/errors.ts';
import type { Device } from '../device/device.ts';

let current: Device | undefined;
let starter: (() => Device) | undefined;

/** How a device is started when the first array is made before `init`; throws where that can't be done at once. */
export function startWith(start: () => Device): void {
  starter = start;
}

export function useDevice(device: Device | undefined): void {
  current = device;
}

export const startedDevice = (): Device | undefined => current;

export function device(): Device {
  if (current !== undefined) return current;
  if (starter === undefined) throw deviceNotReady();
  current = starter();
  return current;
}
