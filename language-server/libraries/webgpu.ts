/**
 * Raw WebGPU: buffers, textures and query sets go by `destroy`; encoders and bind groups remember what they were given.
 *
 * Commands are recorded, so a buffer is used when the recording is submitted: `records` ties it to the encoder, and
 * `submit` reads what is tied. Destroying after submit is legal, before it is not. Depends on: model.
 */
import { times, type Dim } from '../../runtime/core/dim.ts';
import type { Call, LibraryModel } from './model.ts';
import type { ShapeRule } from './shaping.ts';

const creates: Call = { arguments: { receiver: 'inspects', rest: 'inspects' }, result: 'creates' };
const records: Call = { arguments: { receiver: 'inspects', rest: 'records' }, result: 'host' };
const holder: Call = { arguments: { receiver: 'inspects', rest: 'records' }, result: { aliases: -1 } };
const destroy: Call = { arguments: { receiver: 'disposes' }, result: 'host' };
const host: Call = { arguments: { receiver: 'inspects', rest: 'inspects' }, result: 'host' };

/** Programs in plain JavaScript keep the device in a variable of no type: these names belong to WebGPU alone. */
const byMethod: NonNullable<LibraryModel['byMethod']> = {
  createBuffer: { of: 'GPUDevice', given: ['size', 'usage'] },
  createTexture: { of: 'GPUDevice', given: ['size', 'format', 'usage'] },
  createQuerySet: { of: 'GPUDevice', given: ['type', 'count'] },
  createBindGroup: { of: 'GPUDevice', given: ['layout', 'entries'] },
  createCommandEncoder: { of: 'GPUDevice' },
  writeBuffer: { of: 'GPUQueue' },
  writeTexture: { of: 'GPUQueue', given: ['texture'] },
  copyExternalImageToTexture: { of: 'GPUQueue', given: ['source'] },
  submit: { of: 'GPUQueue' },
  beginComputePass: { of: 'GPUCommandEncoder' },
  beginRenderPass: { of: 'GPUCommandEncoder' },
  finish: { of: 'GPUCommandEncoder' },
  copyBufferToBuffer: { of: 'GPUCommandEncoder' },
  copyBufferToTexture: { of: 'GPUCommandEncoder' },
  copyTextureToBuffer: { of: 'GPUCommandEncoder' },
  copyTextureToTexture: { of: 'GPUCommandEncoder' },
  clearBuffer: { of: 'GPUCommandEncoder' },
  resolveQuerySet: { of: 'GPUCommandEncoder' },
  setBindGroup: { of: 'GPUComputePassEncoder' },
  setVertexBuffer: { of: 'GPURenderPassEncoder' },
  setIndexBuffer: { of: 'GPURenderPassEncoder' },
};

const texelBytes: Readonly<Record<string, number>> = {
  r8unorm: 1,
  rg8unorm: 2,
  r16float: 2,
  rgba8unorm: 4,
  'rgba8unorm-srgb': 4,
  bgra8unorm: 4,
  'bgra8unorm-srgb': 4,
  r32float: 4,
  r32uint: 4,
  rg16float: 4,
  depth24plus: 4,
  depth32float: 4,
  rg32float: 8,
  rgba16float: 8,
  rgba32float: 16,
};

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && name in value ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

/** Sizes are in bytes already; of textures without mip levels or samples they follow from the format. */
const shapes: Readonly<Record<string, ShapeRule>> = {
  'GPUDevice.createBuffer': ([descriptor], on) => {
    const bytes = on.dim(fieldOf(descriptor, 'size'));
    return bytes === undefined ? undefined : on.buffer(bytes);
  },
  'GPUDevice.createTexture': ([descriptor], on) => {
    const texel = texelBytes[String(fieldOf(descriptor, 'format'))];
    const extents = on.list(fieldOf(descriptor, 'size'))?.map((extent) => on.dim(extent));
    if (texel === undefined || extents === undefined || extents.some((extent) => extent === undefined)) return undefined;
    if (fieldOf(descriptor, 'mipLevelCount') !== undefined || fieldOf(descriptor, 'sampleCount') !== undefined) return undefined;
    return on.buffer(extents.reduce<Dim>((product, extent) => times(product, extent!), texel));
  },
};

export const webgpu: LibraryModel = {
  id: 'webgpu',
  modules: ['@webgpu/types', 'lib', 'webgpu'],
  arrays: ['GPUBuffer', 'GPUTexture', 'GPUQuerySet'],
  owners: [],
  recorders: [
    'GPUCommandEncoder',
    'GPUComputePassEncoder',
    'GPURenderPassEncoder',
    'GPURenderBundleEncoder',
    'GPUCommandBuffer',
    'GPUBindGroup',
    'GPUTextureView',
    'GPURenderBundle',
  ],
  convention: 'borrows',
  free: ['destroy'],
  freeTwice: true,
  metadata: [
    'size',
    'usage',
    'label',
    'mapState',
    'width',
    'height',
    'depthOrArrayLayers',
    'mipLevelCount',
    'sampleCount',
    'dimension',
    'format',
    'type',
    'count',
  ],
  noun: 'buffer',
  shapes,
  byMethod,
  calls: {
    // The texture of the screen belongs to the canvas; nobody destroys it.
    'GPUCanvasContext.getCurrentTexture': { arguments: { receiver: 'inspects' }, result: 'unknown' },
    'GPUCanvasContext.*': host,
    'GPUDevice.createBuffer': { ...creates, makes: 'GPUBuffer' },
    'GPUDevice.createTexture': { ...creates, makes: 'GPUTexture' },
    'GPUDevice.createQuerySet': { ...creates, makes: 'GPUQuerySet' },
    'GPUDevice.createBindGroup': { arguments: { receiver: 'inspects', rest: 'records' }, result: 'host', note: 'recorder' },
    'GPUDevice.createCommandEncoder': { arguments: { rest: 'inspects' }, result: 'host', note: 'recorder' },
    'GPUDevice.createRenderBundleEncoder': { arguments: { rest: 'inspects' }, result: 'host', note: 'recorder' },
    'GPUDevice.destroy': host,
    'GPUDevice.*': host,
    'GPUQueue.submit': { arguments: { receiver: 'inspects', 0: 'reads' }, result: 'host' },
    'GPUQueue.writeBuffer': { arguments: { receiver: 'inspects', 0: 'reads', rest: 'inspects' }, result: 'host' },
    'GPUQueue.writeTexture': { arguments: { receiver: 'inspects', 0: 'reads', rest: 'inspects' }, result: 'host' },
    'GPUQueue.copyExternalImageToTexture': { arguments: { receiver: 'inspects', rest: 'reads' }, result: 'host' },
    'GPUQueue.*': { arguments: { receiver: 'inspects', rest: 'inspects' }, result: { settles: 'host' } },
    'GPUCommandEncoder.beginComputePass': holder,
    'GPUCommandEncoder.beginRenderPass': holder,
    'GPUCommandEncoder.finish': holder,
    'GPUCommandEncoder.*': records,
    'GPURenderBundleEncoder.finish': holder,
    'GPUComputePassEncoder.*': records,
    'GPURenderPassEncoder.*': records,
    'GPURenderBundleEncoder.*': records,
    'GPUBindingCommandsMixin.*': records,
    'GPURenderCommandsMixin.*': records,
    'GPUDebugCommandsMixin.*': records,
    'GPUBuffer.destroy': destroy,
    'GPUTexture.destroy': destroy,
    'GPUQuerySet.destroy': destroy,
    'GPUBuffer.mapAsync': { arguments: { receiver: 'reads' }, result: { settles: 'host' }, readsUntilSettled: true },
    'GPUBuffer.unmap': { arguments: { receiver: 'inspects' }, result: 'host' },
    'GPUBuffer.getMappedRange': { arguments: { receiver: 'reads' }, result: 'host' },
    'GPUTexture.createView': { arguments: { receiver: 'records' }, result: 'host', note: 'recorder' },
    'GPU.*': host,
    'GPUAdapter.*': host,
    'GPUPipelineBase.*': host,
    'GPUComputePipeline.*': host,
    'GPURenderPipeline.*': host,
  },
};
