/**
 * Watches GPU memory: every buffer and texture from creation to destruction, whoever makes it.
 *
 * The prototypes are wrapped, so every device is watched, those that exist already included.
 * Depends on: events, holdings, recorder, texture-bytes.
 */
import { createHoldings, isSoftware } from './holdings.ts';
import type { Holding, HoldingOptions } from './holdings.ts';
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

const wrapped = Symbol.for('tidemark.webgpu');
const mapUsage = 0x1 | 0x2;
/** On each object of the GPU that is known: a field costs a tenth of what a weak map does. */
const knownKey = Symbol('tidemark.known');

interface GPUObject {
  [knownKey]?: Known;
}

interface Known {
  readonly holding: Holding;
  readonly device: Device;
  /** Position among what is alive of the device; -1 when it is dead. */
  position: number;
}

interface Device {
  /** In no order. */
  readonly alive: Known[];
  readonly maxBufferBytes: number;
}

export function watchWebGPU(recorder: Recorder, classes: GPUClasses, options: HoldingOptions): void {
  const device = classes.GPUDevice?.prototype;
  if (device === undefined || wrapped in device) return;
  Object.defineProperty(device, wrapped, { value: true });

  const holdings = createHoldings(recorder, 'webgpu', options);
  const devices = new WeakMap<GPUDevice, Device>();

  /** Limits of a device are asked for once: each look at them crosses into native code several times. */
  function deviceOf(one: GPUDevice): Device {
    let device = devices.get(one);
    if (device === undefined) devices.set(one, (device = { alive: [], maxBufferBytes: one.limits.maxBufferSize }));
    return device;
  }

  function born(device: Device, object: GPUObject, holding: Holding): void {
    const known: Known = { holding, device, position: device.alive.length };
    object[knownKey] = known;
    device.alive.push(known);
    holdings.livesIn(holding, object, () => died(known, 'collected'));
  }

  function died(known: Known, how: 'destroy' | 'collected'): void {
    const { alive } = known.device;
    const last = alive.at(-1);
    if (known.position < 0 || last === undefined) return;
    alive[known.position] = last;
    last.position = known.position;
    alive.pop();
    known.position = -1;
    holdings.died(known.holding, how);
  }

  const { createBuffer, createTexture, destroy } = device;

  device.createBuffer = function tidemarkCreateBuffer(this: GPUDevice, descriptor) {
    const buffer = createBuffer.call(this, descriptor);
    // The descriptor was good, so it says what the buffer would, without a way into native code and back.
    const { usage, size, label } = descriptor;
    const bytes = Math.trunc(Number(size));
    const device = deviceOf(this);
    const what = (Number(usage) & mapUsage) !== 0 ? 'staging' : 'buffer';
    if (bytes <= device.maxBufferBytes) born(device, buffer as GPUObject, holdings.born(bytes, what, label ?? '', tidemarkCreateBuffer));
    return buffer;
  };

  device.createTexture = function tidemarkCreateTexture(this: GPUDevice, descriptor) {
    const texture = createTexture.call(this, descriptor);
    const holding = holdings.born(textureBytes(texture), 'texture', texture.label, tidemarkCreateTexture);
    born(deviceOf(this), texture as GPUObject, holding);
    return texture;
  };

  device.destroy = function tidemarkDestroyDevice(this: GPUDevice) {
    const result = destroy.call(this);
    for (const known of [...deviceOf(this).alive]) died(known, 'destroy');
    return result;
  };

  for (const prototype of [classes.GPUBuffer?.prototype, classes.GPUTexture?.prototype]) {
    if (prototype === undefined) continue;
    const original = prototype.destroy as (this: object) => undefined;
    prototype.destroy = function tidemarkDestroy(this: GPUObject) {
      const result = original.call(this);
      const known = this[knownKey];
      if (known !== undefined) died(known, 'destroy');
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
    const software = info?.isFallbackAdapter === true || isSoftware(name);
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
