/**
 * The language's own functions on walked values: the real ones where everything is known, stand-ins where not.
 *
 * Only functions without effects outside the walk are called. A callback of an unknown collection runs once with an
 * unknown element, so that the calls in it are seen. Depends on: values, walk.
 */
import { isKnown } from '../../runtime/core/dim.ts';
import {
  closureFacts,
  dimOf,
  HostBuffer,
  isArray,
  isObject,
  isUnknown,
  Settling,
  Unknown,
  UnknownArray,
  unknownOf,
  type AnyFunction,
  listOf,
  plainArgument,
} from '../shapes/values.ts';
import type { LibraryCall } from './walk.ts';

const typedArrays = /^(Float32|Float64|Float16|Int8|Int16|Int32|Uint8|Uint16|Uint32|Uint8Clamped|BigInt64|BigUint64)Array(Constructor)?$/;
const ownType =
  /^(Readonly)?(Array|String|Number|Boolean|Map|Set|WeakMap|WeakSet|MapIterator|SetIterator|ArrayIterator|Iterator|IteratorObject|Generator|IterableIterator)\./;
const silent = /^(console|Console|process|Performance|performance|Date|DateConstructor|Math\.random|WriteStream|Process)\b/;

/** Calls that change what they are called on: only where the receiver is known. */
export function callStandard({ name, receiver, args: given, span, construct, resultType }: LibraryCall): unknown {
  const unknown = (why: string): unknown => unknownOf(resultType, why, undefined, span);
  const typed = typedArrays.exec(name.replace(/\.(from|of)$/, ''));
  if (typed !== null) return typedArray(`${typed[1]}Array`, given[0], name.endsWith('.from'));
  const args = given.map(plainArgument);
  if (silent.test(name))
    return name.startsWith('Math') || /now|hrtime|Date/.test(name) ? new Unknown('the clock or chance') : unknown('what the system says');
  if (construct) return constructed(name, args) ?? unknown(`a new ${name}`);
  if (name.startsWith('Math.')) return math(name.slice(5), args) ?? unknown(`${name} of something unknown`);
  if (/^Promise(Constructor|Like)?\./.test(name)) return promise(name.slice(name.indexOf('.') + 1), receiver, args) ?? unknown('a promise');
  if (name.startsWith('ObjectConstructor.') || name.startsWith('Object.'))
    return objects(name.slice(name.indexOf('.') + 1), args) ?? unknown(name);
  if (name.startsWith('ArrayConstructor.')) return arrays(name.slice(17), args) ?? unknown(name);
  if (/^(Number|String|Boolean|parseInt|parseFloat|isNaN|isFinite|NumberConstructor\.\w+|BigInt)$/.test(name))
    return convert(name, args) ?? unknown(name);
  if (name === 'structuredClone') return isObject(args[0]) ? unknown(name) : args[0];
  if (/^(queueMicrotask|setTimeout|setInterval|setImmediate|requestAnimationFrame|requestIdleCallback)$/.test(name)) {
    runOnce(args[0], []);
    return new Unknown('a handle');
  }
  if (ownType.test(name)) return method(name.slice(name.lastIndexOf('.') + 1), receiver, args) ?? unknown(name);
  for (const argument of args) runOnce(argument, []);
  return unknown(`what \`${name}\` yields`);
}

function typedArray(type: string, first: unknown, from: boolean): HostBuffer {
  if (typeof first === 'number' && !from) return new HostBuffer(type, first);
  if (isUnknown(first) && !from) return new HostBuffer(type, first);
  if (first instanceof HostBuffer) return new HostBuffer(type, first.length);
  const items = listOf(first);
  if (items !== undefined) return new HostBuffer(type, items.length);
  const length = isObject(first) && 'length' in first ? first.length : undefined;
  return new HostBuffer(type, typeof length === 'number' || isUnknown(length) ? length : new Unknown('the length of a typed array'));
}

function constructed(name: string, args: readonly unknown[]): unknown {
  const items = listOf(args[0]) ?? (args[0] === undefined || args[0] === null ? [] : undefined);
  switch (name.replace(/Constructor$/, '').replace(/^globalThis\./, '')) {
    case 'Map':
    case 'WeakMap':
      return items === undefined ? undefined : new Map(items.filter(isPair));
    case 'Set':
    case 'WeakSet':
      return items === undefined ? undefined : new Set(items);
    case 'Array':
      return arrays('of', args.length === 1 && typeof args[0] === 'number' ? Array.from({ length: Math.min(args[0], 100_000) }) : args);
    case 'Error':
    case 'TypeError':
    case 'RangeError':
      return { message: args[0], name };
    default:
      return undefined;
  }
}

const isPair = (value: unknown): value is [unknown, unknown] => Array.isArray(value);

function math(name: string, args: readonly unknown[]): unknown {
  if (args.every((value) => typeof value === 'number')) {
    const compute: unknown = Reflect.get(Math, name);
    return typeof compute === 'function' ? (compute as (...numbers: readonly number[]) => number)(...args) : undefined;
  }
  // Rounding leaves a size what it is.
  if (/^(floor|ceil|round|trunc)$/.test(name) && dimOf(args[0]) !== undefined) return args[0];
  return undefined;
}

/** A promise is the value it settles with: walks are sequential. What one reads until then is passed on. */
function promise(name: string, receiver: unknown, args: readonly unknown[]): unknown {
  const all = listOf(args[0]);
  if (all?.some((item) => item instanceof Settling) === true) {
    const reads = new Set(all.flatMap((item) => (item instanceof Settling ? [...item.reads] : [])));
    const values = all.map((item) => (item instanceof Settling ? item.value : item));
    return new Settling(name === 'race' || name === 'any' ? values[0] : values, reads);
  }
  if (receiver instanceof Settling) return new Settling(promise(name, receiver.value, args), receiver.reads);
  switch (name) {
    case 'all':
    case 'allSettled':
      return listOf(args[0]);
    case 'race':
    case 'any':
      return listOf(args[0])?.[0];
    case 'resolve':
      return args[0];
    case 'then':
      return typeof args[0] === 'function' ? (args[0] as AnyFunction)(receiver) : receiver;
    case 'finally':
      runOnce(args[0], []);
      return receiver;
    case 'catch':
      return receiver;
    default:
      return undefined;
  }
}

function objects(name: string, args: readonly unknown[]): unknown {
  const [first, second] = args;
  if (name === 'freeze' || name === 'seal') return first;
  if (!isObject(first) || isUnknown(first) || isArray(first) || first instanceof UnknownArray) {
    return name === 'fromEntries' && listOf(first) !== undefined
      ? Object.fromEntries(
          listOf(first)!
            .filter(isPair)
            .map(([key, value]) => [String(key), value]),
        )
      : undefined;
  }
  switch (name) {
    case 'keys':
      return Object.keys(first);
    case 'values':
      return Object.values(first);
    case 'entries':
      return Object.entries(first);
    case 'fromEntries':
      return Object.fromEntries((listOf(first) ?? []).filter(isPair).map(([key, value]) => [String(key), value]));
    case 'assign':
      return isObject(second) && !isUnknown(second) ? Object.assign(first, ...args.slice(1)) : undefined;
    default:
      return undefined;
  }
}

function arrays(name: string, args: readonly unknown[]): unknown {
  switch (name) {
    case 'of':
      return [...args];
    case 'isArray':
      return isUnknown(args[0]) ? undefined : Array.isArray(args[0]);
    case 'from': {
      const [source, each] = args;
      const length =
        isObject(source) && !Array.isArray(source) && 'length' in source && !(source instanceof HostBuffer) ? source.length : undefined;
      const known = dimOf(length);
      const items =
        listOf(source) ?? (known !== undefined && isKnown(known) && known <= 100_000 ? Array.from({ length: known }) : undefined);
      if (items === undefined) {
        runOnce(each, [new Unknown('an element'), new Unknown('an index')]);
        return undefined;
      }
      return typeof each === 'function' ? items.map((item, i) => (each as AnyFunction)(item, i)) : [...items];
    }
    default:
      return undefined;
  }
}

function convert(name: string, args: readonly unknown[]): unknown {
  const [value] = args;
  if (isUnknown(value)) return name === 'Number' && value.dim !== undefined ? value : new Unknown(value.why);
  if (isObject(value)) return undefined;
  switch (name) {
    case 'Number':
      return Number(value);
    case 'String':
      return String(value);
    case 'Boolean':
      return Boolean(value);
    case 'parseInt':
      return typeof value === 'string' ? Number.parseInt(value, typeof args[1] === 'number' ? args[1] : 10) : undefined;
    case 'parseFloat':
      return typeof value === 'string' ? Number.parseFloat(value) : undefined;
    case 'NumberConstructor.isInteger':
      return Number.isInteger(value);
    case 'NumberConstructor.isFinite':
    case 'isFinite':
      return Number.isFinite(Number(value));
    case 'NumberConstructor.isNaN':
    case 'isNaN':
      return Number.isNaN(Number(value));
    default:
      return undefined;
  }
}

function method(name: string, receiver: unknown, args: readonly unknown[]): unknown {
  if (isUnknown(receiver) || receiver === undefined || receiver === null || receiver instanceof HostBuffer) {
    for (const argument of args)
      if (closureFacts(argument) !== undefined) runOnce(argument, [new Unknown('an element'), new Unknown('an index')]);
    return undefined;
  }
  if (
    typeof receiver !== 'string' &&
    !Array.isArray(receiver) &&
    !(receiver instanceof Map) &&
    !(receiver instanceof Set) &&
    typeof receiver !== 'number' &&
    !(isObject(receiver) && 'next' in receiver)
  )
    return undefined;
  if (args.some((value) => isUnknown(value)) && !/^(push|unshift|set|add|map|forEach|reduce|fill|includes|concat)$/.test(name))
    return undefined;
  if (name === 'fill' && Array.isArray(receiver) && args.length === 1) return receiver.fill(args[0]);
  const own: unknown = Reflect.get(Object(receiver) as object, name);
  if (typeof own !== 'function') return undefined;
  // A sort or filter by an unknown answer keeps the list as it is: shapes don't depend on the order.
  if (name === 'filter' || name === 'find' || name === 'some' || name === 'every' || name === 'sort' || name === 'toSorted')
    return decided(name, receiver, args);
  return (own as AnyFunction).apply(receiver, [...args]);
}

function decided(name: string, receiver: unknown, args: readonly unknown[]): unknown {
  const items = Array.isArray(receiver) ? (receiver as unknown[]) : undefined;
  if (items === undefined) return undefined;
  if (name === 'sort' || name === 'toSorted') {
    const plain = items.every((item) => typeof item === 'number' || typeof item === 'string');
    if (!plain || args.length > 0) return name === 'sort' ? items : [...items];
    return name === 'sort' ? items.sort() : items.toSorted();
  }
  const test = args[0];
  if (typeof test !== 'function') return undefined;
  const answers = items.map((item, i) => (test as AnyFunction)(item, i, items));
  if (answers.some((answer) => isUnknown(answer))) return name === 'filter' ? new Unknown('a filter by something unknown') : undefined;
  switch (name) {
    case 'filter':
      return items.filter((_, i) => answers[i]);
    case 'find':
      return items.find((_, i) => answers[i]);
    case 'some':
      return answers.some(Boolean);
    default:
      return answers.every(Boolean);
  }
}

function runOnce(value: unknown, args: readonly unknown[]): void {
  if (closureFacts(value) !== undefined) (value as AnyFunction)(...args);
}
