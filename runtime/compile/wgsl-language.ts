/**
 * How values, loads and stores are written in WGSL.
 *
 * All slots of one slab share its binding, so a kernel has one element type: f32 when all its arrays are, else u32, with
 * bit casts where values go in and out. A bool is a `bool` in expressions and a u32 in memory.
 * Depends on: core, code.
 */
import type { KnownAval } from '../core/aval.ts';
import type { DType } from '../core/dtype.ts';
import type { Language } from './code.ts';

export interface Slabs {
  readonly declarations: readonly string[];
  readonly element: 'f32' | 'u32';
  /** The slab is an array of vectors of four. */
  readonly fours: boolean;
  readonly slabOf: (slot: number) => number;
}

export function boundSlabs(avals: readonly KnownAval[], slabs: readonly number[], fours: boolean): Slabs {
  if (avals.some(({ dtype }) => dtype === 'float16'))
    throw new Error('internal: runtime/compile: float16 is not computed with on this adapter');
  const element = avals.every(({ dtype }) => dtype === 'float32') ? 'f32' : 'u32';
  const count = Math.max(-1, ...slabs) + 1;
  const type = fours ? `vec4<${element}>` : element;
  return {
    element,
    fours,
    declarations: Array.from({ length: count }, (_, i) => `@group(0) @binding(${i}) var<storage, read_write> slab${i}: array<${type}>;`),
    slabOf: (slot) => slabs[slot]!,
  };
}

const wgslType: Readonly<Record<DType, string>> = { float32: 'f32', float16: 'f16', int32: 'i32', uint32: 'u32', bool: 'bool' };

export function constantText(value: number, dtype: DType): string {
  switch (dtype) {
    case 'float32':
    case 'float16':
      return floatText(Math.fround(value));
    case 'int32':
      return value === -2147483648 ? '(-2147483647i - 1i)' : value < 0 ? `(${value | 0}i)` : `${value | 0}i`;
    case 'uint32':
      return `${value >>> 0}u`;
    case 'bool':
      return value ? 'true' : 'false';
  }
}

/** Infinities and NaN can't be written as constants: they come from bits that the compiler doesn't look through. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return 'bitcast<f32>(nan_bits)';
  if (value === Infinity) return 'bitcast<f32>(infinity_bits)';
  if (value === -Infinity) return '(-bitcast<f32>(infinity_bits))';
  const text = Object.is(value, -0) ? '-0.0f' : `${String(value)}${/[.e]/.test(String(value)) ? '' : '.0'}f`;
  return text.startsWith('-') ? `(${text})` : text;
}

export const specialBits: readonly (readonly [string, string])[] = [
  ['nan_bits', 'var<private> nan_bits: u32 = 0x7fc00000u;'],
  ['infinity_bits', 'var<private> infinity_bits: u32 = 0x7f800000u;'],
];

/** Memory's bits as a value, and back. */
function fromMemory(text: string, dtype: DType, element: 'f32' | 'u32', vector: boolean): string {
  if (element === 'f32' || dtype === 'uint32') return text;
  if (dtype === 'bool') return vector ? `(${text} != vec4u())` : `(${text} != 0u)`;
  const type = wgslType[dtype];
  return vector ? `bitcast<vec4<${type}>>(${text})` : `bitcast<${type}>(${text})`;
}

function toMemory(text: string, dtype: DType, element: 'f32' | 'u32'): string {
  if (element === 'f32' || dtype === 'uint32') return text;
  return dtype === 'bool' ? `select(0u, 1u, ${text})` : `bitcast<u32>(${text})`;
}

export function wgslLanguage(slabs: Slabs, needs: Map<string, string>): Language {
  return {
    constant(value, dtype) {
      const text = constantText(value, dtype);
      for (const [name, declaration] of specialBits) if (text.includes(name)) needs.set(name, declaration);
      return text;
    },
    coordinate: (axis) => `c${axis}`,
    load: (slot, position, dtype, vector) => loaded(slot, position, dtype, vector, slabs),
    apply(fn, operands, dtype, from) {
      for (const [name, text] of Object.entries(fn.needs ?? {})) needs.set(name, text);
      return fn.wgsl(operands, dtype, from);
    },
    choose: (condition, then, otherwise) => `select(${otherwise}, ${then}, ${condition})`,
    define: (name, _dtype, text) => `let ${name} = ${text};`,
    variable: (name, dtype, text) => `var ${name}: ${wgslType[dtype]} = ${text};`,
    assign: (name, text) => `${name} = ${text};`,
    loop: (counter, extent) => `for (var ${counter} = 0; ${counter} < ${extent}; ${counter}++) {`,
    end: '}',
  };
}

/** A value, or (`vector`) four side by side at a position that counts fours. */
export function loaded(slot: number, position: string, dtype: DType, vector: boolean, { slabOf, fours, element }: Slabs): string {
  const slab = `slab${slabOf(slot)}`;
  const base = `bases.b${slot}`;
  if (vector && !fours) {
    const parts = [0, 1, 2, 3].map((i) => `${slab}[${base} + 4 * (${position}) + ${i}]`);
    return fromMemory(`vec4<${element}>(${parts.join(', ')})`, dtype, element, true);
  }
  if (vector) return fromMemory(`${slab}[(${base} >> 2u) + ${position}]`, dtype, element, true);
  if (!fours) return fromMemory(`${slab}[${base} + ${position}]`, dtype, element, false);
  return fromMemory(`${slab}[(${base} + ${position}) >> 2u][(${base} + ${position}) & 3]`, dtype, element, false);
}

/** A store of one value, or of four side by side at a position that counts fours. */
export function stored(
  slot: number,
  position: string,
  value: string | readonly string[],
  dtype: DType,
  { slabOf, fours, element }: Slabs,
): string {
  const slab = `slab${slabOf(slot)}`;
  const base = `bases.b${slot}`;
  if (typeof value !== 'string' && !fours)
    return value.map((one, i) => `${slab}[${base} + 4 * (${position}) + ${i}] = ${toMemory(one, dtype, element)};`).join(' ');
  if (typeof value === 'string') return `${slab}[${base} + ${position}] = ${toMemory(value, dtype, element)};`;
  return `${slab}[(${base} >> 2u) + ${position}] = vec4<${element}>(${value.map((one) => toMemory(one, dtype, element)).join(', ')});`;
}
