/**
 * Copies bytes to where JavaScript can read them.
 *
 * A staging buffer is filled in the queue's order; waiting for it to be mapped is what a read waits for. Small ones are kept:
 * destroying one would cost a submit. Once the device refused something that it was asked (a kernel that it can't compile),
 * no number of it is handed out any more: it could be what memory held before. Depends on: core.
 */
import { refusedByDevice } from '../core/errors.ts';

export interface Source {
  readonly buffer: GPUBuffer;
  readonly offset: number;
}

/** Bytes of the buffers that are kept for reading. */
const smallRead = 256;

interface Context {
  readonly device: GPUDevice;
  /** Called when a buffer was destroyed, whose memory comes back with the next submit. */
  readonly onDestroy: () => void;
  /** Called when something is queued; what it returns when that has run. */
  readonly onQueue: () => () => void;
}

export function makeReadback({ device, onDestroy, onQueue }: Context): (from: Source, bytes: number) => Promise<ArrayBuffer> {
  const idle: GPUBuffer[] = [];
  let refused: string | undefined;
  device.addEventListener('uncapturederror', ({ error }) => {
    // What follows from memory that isn't there is told of elsewhere, by those who asked for it.
    if (/ShaderModule|ComputePipeline/.test(error.message)) refused ??= error.message;
  });
  return async ({ buffer, offset }, bytes) => {
    const padded = Math.ceil(bytes / 4) * 4;
    const small = padded <= smallRead;
    const staging =
      (small ? idle.pop() : undefined) ??
      device.createBuffer({
        size: small ? smallRead : padded,
        usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
        label: 'tidemark readback',
      });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, offset, staging, 0, padded);
    device.queue.submit([encoder.finish()]);
    const ran = onQueue();
    await staging.mapAsync(GPUMapMode.READ, 0, padded);
    ran();
    const copy = staging.getMappedRange(0, padded).slice(0);
    staging.unmap();
    if (small) idle.push(staging);
    else {
      staging.destroy();
      onDestroy();
    }
    if (refused !== undefined) throw refusedByDevice(refused);
    return copy;
  };
}
