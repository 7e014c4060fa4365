/**
 * The arguments of a compiled call: leaves with paths, and the key under which the call's program is kept.
 *
 * Depends on: core, ops, trace, execute, array, parameters.
 */
import { typeError } from '../core/errors.ts';
import { printAval } from '../core/aval.ts';
import type { DType } from '../core/dtype.ts';
import type { HostArray } from '../core/interpreter.ts';
import { flatten, leafPaths, printStructure, rebuild, type Structure } from '../core/tree.ts';
import { Value } from '../ops/value.ts';
import { knownAvalOf } from '../trace/trace.ts';
import { DonatedArray } from './array.ts';
import type { Leaf } from './execute.ts';
import type { Parameters } from './parameters.ts';

/** A name that is asked for only when a message needs it. */
export type Naming = () => string;

export interface Arguments {
  readonly key: string;
  readonly leaves: readonly Leaf[];
  /** For each leaf the position of its argument. */
  readonly argnums: readonly number[];
  readonly withLeaves: (values: readonly Value[]) => unknown[];
}

export interface Reading {
  readonly statics: readonly number[];
  readonly donated: readonly number[];
  readonly parameters: Parameters | undefined;
  readonly name: Naming;
}

export function readArguments(args: readonly unknown[], { statics, donated, parameters, name }: Reading): Arguments {
  const leaves: Leaf[] = [];
  const argnums: number[] = [];
  const forms: (Structure | undefined)[] = [];
  const key: string[] = [];
  args.forEach((arg, position) => {
    if (statics.includes(position)) {
      forms.push(undefined);
      key.push(`static ${staticKey(arg)}`);
      return;
    }
    const flat = flatten(arg);
    const paths = leafPaths(flat.structure, parameters?.names[position] ?? `argument ${position}`);
    forms.push(flat.structure);
    key.push(printStructure(flat.structure));
    flat.leaves.forEach((leaf, k) => {
      const own = leafOf(leaf, paths[k]!, name, donated.includes(position));
      leaves.push(own);
      argnums.push(position);
      key.push(`${printAval(own.aval)}${own.aval.weak ? '*' : ''}${own.donated ? '!' : ''}`);
    });
  });
  const withLeaves = (values: readonly Value[]): unknown[] => {
    let next = 0;
    return args.map((arg, position) => {
      const form = forms[position];
      if (form === undefined) return arg;
      const count = argnums.filter((argnum) => argnum === position).length;
      return rebuild(form, values.slice(next, (next += count)));
    });
  };
  return { key: key.join(' '), leaves, argnums, withLeaves };
}

function leafOf(leaf: unknown, path: string, name: Naming, donated: boolean): Leaf {
  if (leaf instanceof Value) {
    return { value: leaf, path, donated: donated || leaf instanceof DonatedArray, aval: knownAvalOf(leaf) };
  }
  if (typeof leaf === 'number') return { value: leaf, path, donated, aval: { shape: [], dtype: 'float32', weak: true } };
  if (typeof leaf === 'boolean') return { value: leaf, path, donated, aval: { shape: [], dtype: 'bool' } };
  const dtype = hostDType(leaf);
  if (dtype !== undefined) return { value: leaf as HostArray, path, donated, aval: { shape: [(leaf as HostArray).length], dtype } };
  throw typeError(
    `jit of \`${name()}\`: \`${path}\` is ${typeof leaf === 'object' ? `an object of class ${leaf?.constructor?.name ?? 'none'}` : `a ${typeof leaf}`}, and only trees of arrays and numbers are traced; name it in staticArgnums`,
  );
}

/** The dtype of a typed array as an argument. */
const hostDType = (leaf: unknown): DType | undefined =>
  leaf instanceof Float32Array
    ? 'float32'
    : leaf instanceof Int32Array
      ? 'int32'
      : leaf instanceof Uint32Array
        ? 'uint32'
        : leaf instanceof Uint16Array
          ? 'float16'
          : leaf instanceof Uint8Array
            ? 'bool'
            : undefined;

const identities = new WeakMap<object, number>();
let lastIdentity = 0;
/** Plain values by what they say, everything else by identity. */
function staticKey(value: unknown): string {
  if (
    typeof value === 'function' ||
    (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype)
  ) {
    const known = identities.get(value) ?? ++lastIdentity;
    identities.set(value, known);
    return `#${known}`;
  }
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value)
      ? `[${value.map(staticKey).join(',')}]`
      : `{${Object.entries(value)
          .map(([k, v]) => `${JSON.stringify(k)}:${staticKey(v)}`)
          .join(',')}}`;
  return `${typeof value}:${Object.is(value, -0) ? '-0' : String(value)}`;
}
