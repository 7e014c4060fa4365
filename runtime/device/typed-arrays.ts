/**
 * Typed arrays in and out: what an array of a dtype is on the host.
 *
 * `bool` is four bytes on the device and one on the host; `float16` is its bits. Depends on: core, compile.
 */
import type { KnownAval } from '../core/aval.ts';
import { numberToHalf } from '../compile/evaluate.ts';
import type { TypedArray } from './device.ts';

const elementsOf = ({ shape }: KnownAval): number => shape.reduce((product, extent) => product * extent, 1);

/** The device's bytes for host data of the same number of elements; the data itself when its type is right. */
export function viewOf(data: TypedArray, aval: KnownAval): ArrayBufferView {
  const expected = elementsOf(aval);
  if (data.length !== expected) throw new Error(`internal: runtime/device: ${data.length} elements for an array of ${expected}`);
  switch (aval.dtype) {
    case 'float32':
      return data instanceof Float32Array ? data : Float32Array.from(data);
    case 'int32':
      return data instanceof Int32Array ? data : Int32Array.from(data);
    case 'uint32':
      return data instanceof Uint32Array ? data : Uint32Array.from(data);
    case 'bool':
      return Uint32Array.from(data, (value) => (value ? 1 : 0));
    case 'float16':
      return padded(data instanceof Uint16Array ? data : Uint16Array.from(data, numberToHalf));
  }
}

/** Writes are in units of four bytes. */
const padded = (data: Uint16Array): Uint16Array => {
  if (data.length % 2 === 0) return data;
  const even = new Uint16Array(data.length + 1);
  even.set(data);
  return even;
};

export function filled(value: number, aval: KnownAval): ArrayBufferView {
  const elements = elementsOf(aval);
  switch (aval.dtype) {
    case 'float32':
      return new Float32Array(elements).fill(value);
    case 'int32':
      return new Int32Array(elements).fill(value);
    case 'uint32':
      return new Uint32Array(elements).fill(value);
    case 'bool':
      return new Uint32Array(elements).fill(value ? 1 : 0);
    case 'float16':
      return padded(new Uint16Array(elements).fill(numberToHalf(value)));
  }
}

/** What people get: bytes as read, in the type of the dtype. */
export function arrayOf(bytes: ArrayBuffer, aval: KnownAval): TypedArray {
  switch (aval.dtype) {
    case 'float32':
      return new Float32Array(bytes);
    case 'int32':
      return new Int32Array(bytes);
    case 'uint32':
      return new Uint32Array(bytes);
    case 'bool':
      return Uint8Array.from(new Uint32Array(bytes));
    case 'float16':
      return new Uint16Array(bytes, 0, elementsOf(aval));
  }
}
