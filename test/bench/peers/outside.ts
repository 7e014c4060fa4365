/**
 * What a program does to the GPU, counted from outside: every GPUBuffer created and not destroyed, whoever made it.
 *
 * Gives all libraries the same `navigator.gpu` and patches its prototypes before any of them is loaded. With `paced`
 * the libraries' own waiting sleeps between looks at the queue, as ours does. Depends on: runtime/device.
 */
import { findAdapter } from '../../../runtime/device/adapter.ts';
import { makePause, paced } from '../../../runtime/device/waiting.ts';

export interface Outside {
  readonly adapter: string;
  readonly reserved: () => number;
  readonly peak: () => number;
  readonly dispatches: () => number;
  readonly submits: () => number;
}

export async function watchFromOutside(waiting: 'default' | 'paced'): Promise<Outside> {
  const { gpu, name } = await findAdapter();
  Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'node', gpu }, configurable: true });
  let reserved = 0;
  let peak = 0;
  let dispatches = 0;
  let submits = 0;
  const bytes = new WeakMap<GPUBuffer, number>();
  const devices = GPUDevice.prototype;
  const create = devices.createBuffer;
  devices.createBuffer = function createBuffer(descriptor) {
    const buffer = create.call(this, descriptor);
    bytes.set(buffer, descriptor.size);
    reserved += descriptor.size;
    peak = Math.max(peak, reserved);
    return buffer;
  };
  const destroy = GPUBuffer.prototype.destroy;
  GPUBuffer.prototype.destroy = function destroyBuffer() {
    reserved -= bytes.get(this) ?? 0;
    bytes.delete(this);
    return destroy.call(this);
  };
  const dispatch = GPUComputePassEncoder.prototype.dispatchWorkgroups;
  GPUComputePassEncoder.prototype.dispatchWorkgroups = function counted(...groups) {
    dispatches++;
    return dispatch.apply(this, groups);
  };
  const submit = GPUQueue.prototype.submit;
  GPUQueue.prototype.submit = function counted(buffers) {
    submits++;
    return submit.call(this, buffers);
  };
  const pause = makePause();
  if (waiting === 'paced' && pause !== undefined) {
    const map = GPUBuffer.prototype.mapAsync;
    GPUBuffer.prototype.mapAsync = function mapPaced(...args) {
      return paced(map.apply(this, args), pause);
    };
    const done = GPUQueue.prototype.onSubmittedWorkDone;
    GPUQueue.prototype.onSubmittedWorkDone = function donePaced() {
      return paced(done.call(this), pause);
    };
  }
  return { adapter: name, reserved: () => reserved, peak: () => peak, dispatches: () => dispatches, submits: () => submits };
}
