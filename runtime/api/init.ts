/**
 * Which device runs programs, and how its memory is laid out: said once, before the first array.
 *
 * Settings come from `init(…)`, else from the environment, else from defaults that suit a machine whose GPU also draws
 * the screen. One that comes too late is an error, not silence. Opening a WebGPU device takes a moment; arrays may be made
 * before it is there, and `await init()` waits for it and fails when there is none.
 * Depends on: core, device, current.
 */
import { deviceLost, settingTooLate, settingUnknown } from '../core/errors.ts';
import { findAdapter } from '../device/adapter.ts';
import type { AllocatorOptions } from '../device/allocator.ts';
import { makeDevice, type DeviceSettings } from '../device/base.ts';
import { makeCpu } from '../device/cpu.ts';
import type { Device } from '../device/device.ts';
import { makeNull } from '../device/null.ts';
import { makePause } from '../device/waiting.ts';
import { makeWebGPU } from '../device/webgpu.ts';
import { startedDevice, startWith, useDevice } from './current.ts';

export type DeviceName = 'webgpu' | 'cpu' | 'null';

export interface MemoryOptions {
  /** One slab for everything at the start: less overhead and fragmentation, an early error when it isn't there. Default off. */
  readonly preallocate?: boolean;
  /** Share of the limit that is preallocated, 0.75 by default. */
  readonly memoryFraction?: number;
  /** Most bytes that are reserved: a number, or text like "512MiB". */
  readonly limit?: number | string;
  /** `platform`: one GPUBuffer per array or region, returned at once. */
  readonly allocator?: 'bfc' | 'platform';
}

export interface InitOptions {
  readonly device?: DeviceName;
  readonly memory?: MemoryOptions;
}

const names: readonly DeviceName[] = ['webgpu', 'cpu', 'null'];
const defaultFraction = 0.75;
const leastGuessBytes = 2 ** 30;

let chosen: InitOptions = {};

/** Chooses and opens the device. Returns the devices that can be chosen. */
export async function init(options: DeviceName | InitOptions = {}): Promise<readonly DeviceName[]> {
  const wanted: InitOptions = typeof options === 'string' ? { device: options } : options;
  settle(wanted);
  const device = startedDevice() ?? start();
  await device.opened;
  return devices();
}

/** The same without waiting, for programs that can't await. */
function settle(wanted: InitOptions): void {
  const started = startedDevice();
  if (started !== undefined && lostDevices.has(started)) useDevice(undefined);
  const running = startedDevice();
  if (wanted.device !== undefined) {
    if (!names.includes(wanted.device))
      throw settingUnknown('device', `"${String(wanted.device)}"`, names.map((name) => `"${name}"`).join(', '));
    if (running !== undefined && running.kind !== wanted.device) throw settingTooLate(`device: "${wanted.device}"`);
  }
  for (const [name, value] of Object.entries(wanted.memory ?? {})) {
    if (running !== undefined && chosen.memory?.[name as keyof MemoryOptions] !== value) throw settingTooLate(`memory.${name}`);
  }
  if (running === undefined) chosen = { ...chosen, ...wanted, memory: { ...chosen.memory, ...wanted.memory } };
}

export const devices = (): readonly DeviceName[] => (canWebGPU() ? ['webgpu', 'cpu'] : ['cpu']);

const canWebGPU = (): boolean => globalThis.navigator?.gpu !== undefined || globalThis.process?.versions?.node !== undefined;

/** The device in use; starts it when there is none yet. */
export function defaultDevice(): DeviceName {
  return (startedDevice() ?? start()).kind;
}

/** Takes another device at once, as long as nothing is alive on the one in use; an error otherwise. */
export function switchTo(device: DeviceName): void {
  const running = startedDevice();
  if (running !== undefined && running.kind !== device && running.live().length === 0) {
    useDevice(undefined);
    running.destroy();
  }
  settle({ device });
  if (startedDevice() === undefined) start();
}

/** Lost, or never opened. */
const lostDevices = new WeakSet<Device>();

function start(): Device {
  const name = chosen.device ?? environmentDevice() ?? 'webgpu';
  noticeJaxVariables();
  const device = makeDevice(backendFor(name), settingsFor());
  void device.lost.then(() => lostDevices.add(device));
  device.opened?.catch(() => lostDevices.add(device));
  useDevice(device);
  return device;
}
startWith(start);

function backendFor(name: DeviceName) {
  const limit = Math.floor(memoryOfMachine() / 4);
  switch (name) {
    case 'webgpu': {
      const pause = makePause();
      return makeWebGPU({ find: findAdapter, softwareLimit: limit, ...(pause === undefined ? {} : { pause }) });
    }
    case 'cpu':
      return makeCpu({ limit, adapter: 'cpu: plain JavaScript, the reference' });
    case 'null':
      return makeNull(limit);
  }
}

function settingsFor(): DeviceSettings {
  const memory = chosen.memory ?? {};
  const limit = bytesFrom('limit', memory.limit ?? environment('TIDEMARK_MEM_LIMIT'));
  const preallocate = memory.preallocate ?? flagFrom('TIDEMARK_PREALLOCATE') ?? false;
  const fraction = memory.memoryFraction ?? numberFrom('TIDEMARK_MEM_FRACTION') ?? defaultFraction;
  if (!(fraction > 0 && fraction <= 1)) throw settingUnknown('memoryFraction', String(fraction), 'a number above 0 and up to 1');
  const kind = memory.allocator ?? environment('TIDEMARK_ALLOCATOR') ?? 'bfc';
  if (kind !== 'bfc' && kind !== 'platform') throw settingUnknown('allocator', `"${kind}"`, '"bfc" or "platform"');
  const whole = limit ?? Math.floor(memoryOfMachine() / 4);
  const allocator: Omit<AllocatorOptions, 'limit'> & { readonly limit?: number } = {
    kind,
    preallocateBytes: preallocate ? Math.floor(whole * fraction) : 0,
    ...(limit === undefined ? {} : { limit }),
  };
  const collect = collector();
  return { allocator, ...(collect === undefined ? {} : { collect }) };
}

const environment = (name: string): string | undefined => {
  const value = globalThis.process?.env?.[name];
  return value === undefined || value === '' ? undefined : value;
};

function environmentDevice(): DeviceName | undefined {
  const value = environment('TIDEMARK_DEVICE');
  if (value === undefined) return undefined;
  const name = names.find((one) => one === value);
  if (name === undefined) throw settingUnknown('TIDEMARK_DEVICE', `"${value}"`, names.map((one) => `"${one}"`).join(', '));
  return name;
}

function flagFrom(name: string): boolean | undefined {
  const value = environment(name)?.toLowerCase();
  if (value === undefined) return undefined;
  if (['1', 'true', 'yes', 'on'].includes(value)) return true;
  if (['0', 'false', 'no', 'off'].includes(value)) return false;
  throw settingUnknown(name, `"${value}"`, 'true or false');
}

function numberFrom(name: string): number | undefined {
  const value = environment(name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isNaN(number)) throw settingUnknown(name, `"${value}"`, 'a number');
  return number;
}

const units: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  kib: 1024,
  m: 1e6,
  mb: 1e6,
  mib: 1024 ** 2,
  g: 1e9,
  gb: 1e9,
  gib: 1024 ** 3,
};

function bytesFrom(name: string, value: number | string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const match = /^\s*([\d.]+)\s*([a-z]*)\s*$/i.exec(String(value));
  const unit = match === null ? undefined : units[match[2]!.toLowerCase()];
  const bytes = match === null || unit === undefined ? NaN : Number(match[1]) * unit;
  if (!(bytes > 0)) throw settingUnknown(name, `"${String(value)}"`, 'bytes, or a size like "512MiB"');
  return Math.floor(bytes);
}

/** Bytes of memory that the machine has, as far as it can be known. */
function memoryOfMachine(): number {
  const os = globalThis.process?.getBuiltinModule?.('node:os');
  if (os !== undefined) return os.totalmem();
  const hint = (globalThis.navigator as (Navigator & { readonly deviceMemory?: number }) | undefined)?.deviceMemory;
  return hint === undefined ? 4 * leastGuessBytes : hint * leastGuessBytes;
}

/** Asks Node for a garbage collection: handles that nobody holds give their bytes back between tasks. */
function collector(): (() => void) | undefined {
  if (typeof globalThis.gc === 'function') {
    const { gc } = globalThis;
    return () => void gc();
  }
  const load = globalThis.process?.getBuiltinModule;
  if (load === undefined || globalThis.process?.versions?.node === undefined) return undefined;
  let collect: unknown;
  return () => {
    if (collect === undefined) {
      load('node:v8').setFlagsFromString('--expose-gc');
      collect = load('node:vm').runInNewContext('gc');
    }
    if (typeof collect === 'function') collect();
  };
}

const jaxVariables: Readonly<Record<string, string>> = {
  XLA_PYTHON_CLIENT_PREALLOCATE: 'TIDEMARK_PREALLOCATE',
  XLA_PYTHON_CLIENT_MEM_FRACTION: 'TIDEMARK_MEM_FRACTION',
  XLA_CLIENT_MEM_FRACTION: 'TIDEMARK_MEM_FRACTION',
  XLA_PYTHON_CLIENT_ALLOCATOR: 'TIDEMARK_ALLOCATOR',
  JAX_PLATFORMS: 'TIDEMARK_DEVICE',
};

function noticeJaxVariables(): void {
  for (const [theirs, ours] of Object.entries(jaxVariables))
    if (environment(theirs) !== undefined && environment(ours) === undefined)
      console.warn(`tidemark: ${theirs} is set and has no effect here; the variable of this runtime is ${ours}`);
}

/** Waits until everything that was queued has run. */
export async function blockUntilReady<T>(tree?: T): Promise<T> {
  const device = startedDevice();
  if (device !== undefined) {
    // One that never opened says why.
    await device.opened;
    if (lostDevices.has(device)) throw deviceLost(await device.lost);
    await device.idle();
  }
  return tree as T;
}
