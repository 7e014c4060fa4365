/**
 * How each dialect says the few things that generated programs do.
 *
 * Depends on: program.
 */
import type { Dialect } from './program.ts';

export interface Words {
  readonly header: string;
  /** The type of an array. */
  readonly type: string;
  readonly make: (fill: number) => string;
  readonly unary: readonly ((x: string) => string)[];
  readonly binary: readonly ((x: string, y: string) => string)[];
  /** A statement that puts a number that depends on `x` into `out`. */
  readonly read: (x: string) => string;
  readonly dispose: (x: string) => string;
  /** Frees all arrays in a tree, where the dialect has a word for it. */
  readonly disposeTree?: (x: string) => string;
  /** Opening and closing words of a scope that frees what its callback made; callbacks in it may not await. */
  readonly scope?: { readonly open: string; readonly close: string };
  /** Do operations take their operands? */
  readonly consumes: boolean;
  /** Has `using`. */
  readonly using: boolean;
  /** Reads are awaited. */
  readonly async: boolean;
}

const method = (name: string) => (x: string, y: string) => `${x}.${name}(${y})`;
const own = (name: string) => (x: string) => `${x}.${name}()`;

/** Raw WebGPU has no operations: two small functions stand for a program's passes. */
const passes = `declare const device: GPUDevice;
const bytes = 64;
function copied(x: GPUBuffer): GPUBuffer {
  const to = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(x, 0, to, 0, bytes);
  device.queue.submit([encoder.finish()]);
  return to;
}
function joined(x: GPUBuffer, y: GPUBuffer): GPUBuffer {
  const to = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(x, 0, to, 0, bytes / 2);
  encoder.copyBufferToBuffer(y, 0, to, bytes / 2, bytes / 2);
  device.queue.submit([encoder.finish()]);
  return to;
}`;

export const words: Readonly<Record<Dialect, Words>> = {
  webgpu: {
    header: passes,
    type: 'GPUBuffer',
    make: () => 'device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST })',
    unary: [(x) => `copied(${x})`],
    binary: [(x, y) => `joined(${x}, ${y})`],
    read: (x) => `device.queue.writeBuffer(${x}, 0, new Float32Array([1, 2]))`,
    dispose: (x) => `${x}.destroy()`,
    consumes: false,
    using: false,
    async: false,
  },
  tfjs: {
    header: "import * as tf from '@tensorflow/tfjs';",
    type: 'tf.Tensor',
    make: (fill) => `tf.fill([4], ${fill})`,
    unary: [own('neg'), own('square'), (x) => `tf.tanh(${x})`, (x) => `${x}.add(1)`],
    binary: [method('add'), method('mul'), (x, y) => `tf.sub(${x}, ${y})`],
    read: (x) => `out.push(${x}.dataSync()[0]!)`,
    dispose: (x) => `${x}.dispose()`,
    disposeTree: (x) => `tf.dispose(${x})`,
    scope: { open: 'tf.tidy(() => ', close: ')' },
    consumes: false,
    using: false,
    async: false,
  },
  tidemark: {
    header: "import { np, scope } from 'tidemark';",
    type: 'np.Array',
    make: (fill) => `np.full([4], ${fill})`,
    unary: [own('neg'), (x) => `np.square(${x})`, (x) => `np.tanh(${x})`, (x) => `${x}.add(1)`],
    binary: [method('add'), method('mul'), method('sub')],
    read: (x) => `out.push((await ${x}.data())[0]!)`,
    dispose: (x) => `${x}.dispose()`,
    scope: { open: 'scope(() => ', close: ')' },
    consumes: false,
    using: true,
    async: true,
  },
  'jax-js': {
    header: "import { numpy as np, tree } from '@jax-js/jax';",
    type: 'np.Array',
    make: (fill) => `np.full([4], ${fill})`,
    unary: [own('neg'), (x) => `np.square(${x})`, (x) => `np.tanh(${x})`, (x) => `${x}.add(1)`],
    binary: [method('add'), method('mul'), method('sub')],
    read: (x) => `out.push((${x}.js() as number[])[0]!)`,
    dispose: (x) => `${x}.dispose()`,
    disposeTree: (x) => `tree.dispose(${x})`,
    consumes: true,
    using: false,
    async: false,
  },
};
