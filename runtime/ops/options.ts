/**
 * Checks what people pass beside arrays: options by name, shapes, and whole numbers.
 *
 * A function lists its options with their defaults; a name that isn't among them is an error that lists those that are.
 * So a misspelt option is never silence. Sizes may be symbolic, as the analysis has them. Depends on: core.
 */
import type { Dim } from '../core/dim.ts';
import { argumentWrong, describe } from '../core/errors.ts';

/** The given options over the defaults. An option without a default is listed with undefined. */
export function optionsOf<T extends object>(operation: string, given: unknown, defaults: T): T {
  if (given === undefined || given === null) return defaults;
  const names = Object.keys(defaults);
  if (typeof given !== 'object' || Array.isArray(given) || 'aval' in given)
    throw argumentWrong(operation, `${describe(given)} as options`, `pass them by name: { ${names.join(', ')} }`);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw argumentWrong(
      operation,
      `an option \`${unknown}\`, which it doesn't have`,
      names.length === 1 ? `its only option is \`${names[0]!}\`` : `its options are ${names.map((name) => `\`${name}\``).join(', ')}`,
    );
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(set) };
}

/** A shape as a list of whole numbers from 0; a single number is a shape of one axis. */
export function shapeArg(operation: string, shape: unknown): readonly number[] {
  const list: unknown = typeof shape === 'number' ? [shape] : shape;
  if (!Array.isArray(list))
    throw argumentWrong(operation, `${describe(shape)} as a shape`, 'a shape is a list like [2, 3], or [] for a single element');
  if (!list.every(isSize))
    throw argumentWrong(operation, `the shape [${list.map(String).join(',')}]`, 'dimensions are whole numbers from 0');
  return list as readonly number[];
}

const isSize = (extent: unknown): extent is Dim =>
  typeof extent === 'number'
    ? Number.isInteger(extent) && extent >= 0
    : typeof extent === 'object' && extent !== null && 'terms' in extent && extent.terms instanceof Map;

/** The length of an axis. */
export const sizeArg = (operation: string, name: string, value: unknown): number =>
  isSize(value) ? (value as number) : countArg(operation, name, value);

/** A whole number of at least `least`. */
export function countArg(operation: string, name: string, value: unknown, least = 0): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least) return value;
  throw argumentWrong(
    operation,
    `${describe(value)} as \`${name}\``,
    `give it a whole number${least === -Infinity ? '' : ` from ${least}`}`,
  );
}

/** A list of arrays (or numbers). */
export function listArg<T>(operation: string, values: readonly T[]): readonly T[] {
  if (Array.isArray(values)) return values;
  throw argumentWrong(operation, describe(values), 'it takes a list of arrays: [a, b]');
}
