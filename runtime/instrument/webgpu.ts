/**
 * Watches GPU memory: every buffer and texture from creation to destruction, whoever makes it.
 *
 * All of them are *reserved*. They are *in use* only when no library with arrays of its own asked for them: a tensor and
 * the buffer under it count once, and a pool's spare buffers are nobody's arrays. The prototypes are wrapped, so every
 * device is watched, those that exist already included. Depends on: events, recorder, texture-bytes.
 */
import type { ArrayKind } from '../events/event.ts';
import type { Recorder } from './recorder.ts';
import { textureBytes } from './texture-bytes.ts';

/** The classes to wrap: those of a page, or those of the `webgpu` package. Absent ones are left alone. */
export interface GPUClasses {
  readonly GPU?: { readonly prototype: GPU };
  readonly GPUAdapter?: { readonly prototype: GPUAdapter };
  readonly GPUDevice?: { readonly prototype: GPUDevice };
  readonly GPUBuffer?: { readonly prototype: GPUBuffer };
  readonly GPUTexture?: { readonly prototype: GPUTexture };
}

export interface GPUWatchOptions {
  /** Packages that have arrays of their own: what they ask for is reserved, not in use. */
  readonly arrayLibraries: (name: string) => boolean;
  /** Packages that only pass a call on (`webgpu`): the caller is looked for behind them. */
  readonly passThrough: (name: string) => boolean;
}

const wrapped = Symbol.for('tidemark.webgpu');
const mapUsage = 0x1 | 0x2;

interface Known {
  readonly id: number;
  readonly inUse: boolean;
  readonly device: Device;
}

interface Device {
  readonly alive: Set<Known>;
  readonly maxBufferBytes: number;
}

export function watchWebGPU(recorder: Recorder, classes: GPUClasses, options: GPUWatchOptions): void {
  const device = classes.GPUDevice?.prototype;
  if (device === undefined || wrapped in device) return;
  Object.defineProperty(device, wrapped, { value: true });

  const known = new WeakMap<object, Known>();
  const devices = new WeakMap<GPUDevice, Device>();

  /** Limits of a device are asked for once: each look at them crosses into native code several times. */
  function deviceOf(one: GPUDevice): Device {
    let device = devices.get(one);
    if (device === undefined) devices.set(one, (device = { alive: new Set(), maxBufferBytes: one.limits.maxBufferSize }));
    return device;
  }

  function born(device: Device, object: object, bytes: number, what: ArrayKind, label: string, below: (...args: never[]) => unknown): void {
    const { place, frames } = recorder.stack(below);
    const caller = frames.find((frame) => frame.library === undefined || !options.passThrough(frame.library))?.library;
    if (caller === 'tidemark') recorder.seeGPU();
    const entry: Known = { id: recorder.nextId(), inUse: caller === undefined || !options.arrayLibraries(caller), device };
    known.set(object, entry);
    device.alive.add(entry);
    const at = recorder.now();
    recorder.emit({ kind: 'reserve', at, id: entry.id, bytes, layer: 'webgpu', place });
    if (entry.inUse)
      recorder.emit({ kind: 'allocate', at, id: entry.id, bytes, place, layer: 'webgpu', what, ...(label === '' ? {} : { label }) });
    recorder.watch(object, entry.id, () => died(entry, 'collected'));
  }

  function died(entry: Known, how: 'destroy' | 'collected'): void {
    if (!entry.device.alive.delete(entry)) return;
    const { id } = entry;
    recorder.forget(id);
    const at = recorder.now();
    if (entry.inUse) recorder.emit({ kind: 'free', at, id, how });
    recorder.emit({ kind: 'unreserve', at, id });
  }

  const { createBuffer, createTexture, destroy } = device;

  device.createBuffer = function tidemarkCreateBuffer(this: GPUDevice, descriptor) {
    const buffer = createBuffer.call(this, descriptor);
    // The descriptor was good, so it says what the buffer would, without a way into native code and back.
    const { usage, size, label } = descriptor;
    const bytes = Math.trunc(Number(size));
    const device = deviceOf(this);
    const what = (Number(usage) & mapUsage) !== 0 ? 'staging' : 'buffer';
    if (bytes <= device.maxBufferBytes) born(device, buffer, bytes, what, label ?? '', tidemarkCreateBuffer);
    return buffer;
  };

  device.createTexture = function tidemarkCreateTexture(this: GPUDevice, descriptor) {
    const texture = createTexture.call(this, descriptor);
    born(deviceOf(this), texture, textureBytes(texture), 'texture', texture.label, tidemarkCreateTexture);
    return texture;
  };

  device.destroy = function tidemarkDestroyDevice(this: GPUDevice) {
    const result = destroy.call(this);
    for (const entry of [...deviceOf(this).alive]) died(entry, 'destroy');
    return result;
  };

  for (const prototype of [classes.GPUBuffer?.prototype, classes.GPUTexture?.prototype]) {
    if (prototype === undefined) continue;
    const original = prototype.destroy as (this: object) => undefined;
    prototype.destroy = function tidemarkDestroy(this: object) {
      const result = original.call(this);
      const entry = known.get(this);
      if (entry !== undefined) died(entry, 'destroy');
      return result;
    };
  }

  tellAdapters(recorder, classes);
}

/** The device event: which adapter the program got, and whether it is software. */
function tellAdapters(recorder: Recorder, { GPUAdapter: adapter }: GPUClasses): void {
  if (adapter === undefined) return;
  const { requestDevice } = adapter.prototype;
  adapter.prototype.requestDevice = function tidemarkRequestDevice(this: GPUAdapter, descriptor) {
    const result = requestDevice.call(this, descriptor);
    const { info } = this;
    const name = [info?.vendor, info?.architecture, info?.device, info?.description]
      .filter((part) => part !== undefined && part !== '')
      .join(' ');
    const software = info?.isFallbackAdapter === true || /swiftshader|llvmpipe|lavapipe|softpipe|basic render/i.test(name);
    recorder.emit({
      kind: 'device',
      at: recorder.now(),
      device: 'webgpu',
      adapter: name === '' ? 'unknown adapter' : name,
      software,
      layer: 'webgpu',
    });
    return result;
  };
}
