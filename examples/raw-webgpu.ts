/**
 * WebGPU without a library: a buffer is created, written, copied, read back and destroyed.
 *
 * `mistake` forgets its staging buffer; `tidemark check examples/raw-webgpu.ts` finds it, and a profile counts it.
 * Depends on: a WebGPU device (`navigator.gpu`, or npm `webgpu`).
 */
const COUNT = 1024;

async function readBack(device: GPUDevice, source: GPUBuffer, bytes: number): Promise<Float32Array> {
  const staging = device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(source, 0, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const values = new Float32Array(staging.getMappedRange().slice(0));
  staging.destroy();
  return values;
}

/** The buffer that the values pass through is never destroyed. */
async function mistake(device: GPUDevice, source: GPUBuffer, bytes: number): Promise<Float32Array> {
  const staging = device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(source, 0, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  return new Float32Array(staging.getMappedRange().slice(0));
}

export async function main(): Promise<void> {
  const adapter = await navigator.gpu.requestAdapter();
  if (adapter === null) throw new Error('no WebGPU adapter');
  const device = await adapter.requestDevice();
  const bytes = COUNT * Float32Array.BYTES_PER_ELEMENT;
  const numbers = device.createBuffer({ size: bytes, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  device.queue.writeBuffer(
    numbers,
    0,
    Float32Array.from({ length: COUNT }, (_, i) => i),
  );
  const first = await readBack(device, numbers, bytes);
  const second = await mistake(device, numbers, bytes);
  numbers.destroy();
  console.log(`last ${first.at(-1)}, ${second.at(-1)}`);
}
