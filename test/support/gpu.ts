/**
 * Devices for tests: cpu, and WebGPU on whatever adapter there is (software Vulkan where there is no GPU).
 *
 * One WebGPU device serves a whole test run; opening it and compiling its kernels is what takes time.
 * Depends on: runtime/device.
 */
import { findAdapter } from '../../runtime/device/adapter.ts';
import type { AllocatorOptions } from '../../runtime/device/allocator.ts';
import { makeDevice } from '../../runtime/device/base.ts';
import { makeCpu } from '../../runtime/device/cpu.ts';
import type { Device } from '../../runtime/device/device.ts';
import { makeNull } from '../../runtime/device/null.ts';
import { makePause } from '../../runtime/device/waiting.ts';
import { makeWebGPU, type WebGPUOptions } from '../../runtime/device/webgpu.ts';

const gibibyte = 2 ** 30;
const plain: Omit<AllocatorOptions, 'limit'> = { kind: 'bfc', preallocateBytes: 0 };

export const cpuDevice = (options: Partial<AllocatorOptions> = {}, interpretOnly = false): Device =>
  makeDevice(makeCpu({ limit: 2 * gibibyte, adapter: 'cpu', interpretOnly }), { allocator: { ...plain, ...options } });

export const nullDevice = (options: Partial<AllocatorOptions> = {}): Device =>
  makeDevice(makeNull(2 * gibibyte), { allocator: { ...plain, ...options } });

export function webgpuDevice(options: Partial<AllocatorOptions> = {}, variant: Partial<WebGPUOptions> = {}): Device {
  const pause = makePause();
  return makeDevice(makeWebGPU({ find: findAdapter, softwareLimit: 2 * gibibyte, ...(pause ? { pause } : {}), ...variant }), {
    allocator: { ...plain, ...options },
  });
}

let shared: Device | undefined;
/** The WebGPU device that tests share; its absence is a failure, not a reason to skip. */
export async function sharedWebGPU(): Promise<Device> {
  shared ??= webgpuDevice();
  await shared.opened;
  return shared;
}
