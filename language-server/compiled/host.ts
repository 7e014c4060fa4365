/**
 * Operators and properties on host values, with unknowns passed on.
 *
 * Depends on: values.
 */
import { same } from '../../runtime/core/dim.ts';
import {
  arithmetic,
  computed,
  dimOf,
  dimValue,
  HostBuffer,
  instanceFacts,
  isArray,
  isObject,
  isUnknown,
  NamedNumber,
  plain,
  Unknown,
  UnknownArray,
  type AnyFunction,
} from '../shapes/values.ts';

export function unary(operator: string, value: unknown): unknown {
  if (operator === 'void') return undefined;
  if (value instanceof NamedNumber) return operator === '+' ? value : unary(operator, value.value);
  if (isUnknown(value)) {
    const negative = operator === '-' ? arithmetic('-', 0, value) : operator === '+' ? value.dim : undefined;
    return negative === undefined ? new Unknown(value.why) : dimValue(negative);
  }
  switch (operator) {
    case '!':
      return isObject(value) ? false : !value;
    case 'typeof':
      return typeof value === 'object' && value instanceof UnknownArray ? 'object' : typeof value;
    case '-':
      return isObject(value) ? new Unknown('the negative of an object') : -Number(value);
    case '+':
      return isObject(value) ? new Unknown('an object as a number') : Number(value);
    case '~':
      return isObject(value) ? new Unknown('an object as a number') : ~Number(value);
    default:
      return new Unknown(`the operator ${operator}`);
  }
}

export function binary(
  operator: string,
  left: unknown,
  right: unknown,
  isInstance: (value: unknown, of: unknown) => boolean | undefined,
): unknown {
  if (left instanceof NamedNumber || right instanceof NamedNumber) {
    const size = isNumber(left) && isNumber(right) ? computed(operator, left, right) : undefined;
    if (size !== undefined) return size;
    if (!isUnknown(plain(left)) && !isUnknown(plain(right))) return binary(operator, plain(left), plain(right), isInstance);
  }
  if (operator === 'instanceof') return isInstance(left, right) ?? new Unknown('instanceof');
  const negated = operator === '!==' || operator === '!=';
  if (negated || operator === '===' || operator === '==') {
    const equal = equality(left, right, operator === '==' || operator === '!=');
    return equal === undefined ? new Unknown('a comparison with something unknown') : equal !== negated;
  }
  if (operator === 'in') return isObject(right) && !isUnknown(right) && typeof left === 'string' ? left in right : new Unknown('in');
  if (isUnknown(left) || isUnknown(right)) {
    const dim = arithmetic(operator, left, right);
    return dim === undefined ? new Unknown(isUnknown(left) ? left.why : (right as Unknown).why) : dimValue(dim);
  }
  if (operator === '+' && (typeof left === 'string' || typeof right === 'string'))
    return isObject(left) || isObject(right) ? new Unknown('an object as text') : String(left) + String(right);
  if (isObject(left) || isObject(right)) return new Unknown('an object in arithmetic');
  if (typeof left === 'string' && typeof right === 'string') {
    switch (operator) {
      case '<':
        return left < right;
      case '<=':
        return left <= right;
      case '>':
        return left > right;
      case '>=':
        return left >= right;
    }
  }
  return numeric(operator, Number(left), Number(right));
}

const isNumber = (value: unknown): value is number | NamedNumber => typeof value === 'number' || value instanceof NamedNumber;

function numeric(operator: string, a: number, b: number): unknown {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
    case '**':
      return a ** b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    case '<<':
      return a << b;
    case '>>':
      return a >> b;
    case '>>>':
      return a >>> b;
    case '&':
      return a & b;
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    default:
      return new Unknown(`the operator ${operator}`);
  }
}

function equality(left: unknown, right: unknown, loose: boolean): boolean | undefined {
  if (isUnknown(left) || isUnknown(right)) {
    const [a, b] = [dimOf(left), dimOf(right)];
    if (a === undefined || b === undefined) return undefined;
    const answer = same(a, b);
    // Names are at least 1 only where they are sizes, so only `yes` can be trusted for a number in general.
    return answer === 'yes' ? true : undefined;
  }
  const nullish = (value: unknown): boolean => value === null || value === undefined;
  return loose && (nullish(left) || nullish(right)) ? nullish(left) && nullish(right) : left === right;
}

export function template(parts: readonly string[], values: readonly unknown[]): unknown {
  const known = values.map(plain);
  if (known.some((value) => isObject(value))) return new Unknown('a text with something unknown in it');
  return parts.map((part, i) => (i < known.length ? part + String(known[i]) : part)).join('');
}

/** Names of properties, as `for … in` and `Object.keys` give them. */
export function keysOf(value: unknown): readonly string[] | undefined {
  return isObject(value) && !isUnknown(value) && !(value instanceof UnknownArray) && !isArray(value) && !(value instanceof HostBuffer)
    ? Object.keys(value)
    : undefined;
}

export const entriesOf = (value: unknown): Record<string, unknown> =>
  keysOf(value) === undefined ? {} : Object.fromEntries(Object.entries(value as Record<string, unknown>));

export function rest(value: unknown, taken: readonly string[] | undefined, start: number | undefined): unknown {
  if (start !== undefined) return Array.isArray(value) ? value.slice(start) : new Unknown('the rest of something unknown');
  if (keysOf(value) === undefined) return new Unknown('the rest of something unknown');
  return Object.fromEntries(Object.entries(value as Record<string, unknown>).filter(([key]) => taken?.includes(key) !== true));
}

const arrayMethods: ReadonlySet<string> = new Set(
  'map filter forEach push pop shift unshift slice splice concat join reverse sort toSorted toReversed indexOf includes find findIndex findLast some every reduce reduceRight flat flatMap fill keys entries values at with'.split(
    ' ',
  ),
);
const collectionMethods: ReadonlySet<string> = new Set('get set has delete add clear keys values entries forEach next return'.split(' '));

export function readProperty(object: unknown, key: unknown, otherwise: () => unknown): unknown {
  if (object === undefined || object === null) return new Unknown('a property of nothing');
  if (object instanceof HostBuffer) return key === 'length' ? object.length : new Unknown('the contents of a typed array');
  if (object instanceof UnknownArray) return otherwise();
  if (typeof key === 'symbol' || typeof key === 'object') return new Unknown('a property by a symbol');
  const name = String(key);
  if (Array.isArray(object)) {
    if (name === 'length') return object.length;
    if (/^\d+$/.test(name)) return object[Number(name)];
    return arrayMethods.has(name) ? bound(object, name) : undefined;
  }
  if (typeof object === 'string') {
    if (name === 'length') return object.length;
    if (/^\d+$/.test(name)) return object[Number(name)];
    return bound(object, name);
  }
  if (object instanceof Map || object instanceof Set)
    return name === 'size' ? object.size : collectionMethods.has(name) ? bound(object, name) : undefined;
  if (typeof object === 'function') return new Unknown('a property of a function');
  if (typeof object !== 'object') return bound(object, name);
  if (Object.hasOwn(object, name)) return (object as Record<string, unknown>)[name];
  return instanceFacts(object) !== undefined || 'next' in object ? bound(object, name) : undefined;
}

function bound(object: unknown, name: string): unknown {
  const method = (Object(object) as Record<string, unknown>)[name];
  return typeof method === 'function' ? (method as AnyFunction).bind(object) : undefined;
}

export function writeProperty(object: unknown, key: unknown, value: unknown): void {
  if (!isObject(object) || isUnknown(object) || isArray(object) || object instanceof UnknownArray || object instanceof HostBuffer) return;
  if (typeof key !== 'string' && typeof key !== 'number') return;
  if (Array.isArray(object) && key === 'length') {
    if (typeof value === 'number' && value <= 1_000_000) object.length = value;
    return;
  }
  if (Array.isArray(object) && typeof key === 'number' && key > 1_000_000) return;
  (object as Record<string | number, unknown>)[key] = value;
}
