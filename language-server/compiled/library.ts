/**
 * Calls of array libraries while a program is walked: the runtime's own functions, applied to shapes or tracers.
 *
 * Which role a call has (compiles, transforms, frees, scopes …) comes from its library's model; what a function computes
 * comes from the runtime, found by the name that the model gives it. Outside of traces a result whose shape can't be
 * inferred is an array of unknown shape; inside it ends the walk. Depends on: core, functions, transforms, libraries,
 * values, walk, shaped, jitted.
 */
import { isKnown, productOf, type Dim } from '../../runtime/core/dim.ts';
import { LiteralValue } from '../../runtime/ops/value.ts';
import { callOf, type Call, type LibraryModel } from '../libraries/model.ts';
import { runtimeFunction } from './names.ts';
import { ruled } from './ruled.ts';
import { DonateMark } from './jitted.ts';
import { isPlainDtype, ofHost, ofShape } from '../shapes/hints.ts';
import { isShaped, shaped } from '../shapes/shaped.ts';
import {
  arraysIn,
  holdsUnknown,
  isArray,
  isUnknown,
  plainArgument,
  Unknown,
  UnknownArray,
  unknownOf,
  type AnyFunction,
} from '../shapes/values.ts';
import { CannotWalk, type LibraryCall } from './walk.ts';

export interface LibraryWorld {
  /** Numbers keep the names of sizes in this walk. */
  readonly named: boolean;
  readonly tracing: () => boolean;
  readonly model: (id: string) => LibraryModel | undefined;
  readonly made: (array: object, call: LibraryCall) => void;
  readonly used: (value: unknown, call: LibraryCall) => void;
  readonly freed: (array: object, call: LibraryCall, how: 'dispose' | 'donated') => void;
  /** A reference is taken, or given up, where the library counts them. */
  readonly retained: (array: object) => void;
  readonly released: (array: object, call: LibraryCall, how: 'dispose' | 'consumed') => void;
  readonly scope: (run: () => unknown, call: LibraryCall) => unknown;
  readonly compiles: (call: LibraryCall, role: Extract<NonNullable<Call['role']>, { kind: 'compiles' }>) => unknown;
  /** `grad(f)` and the like outside of a trace. */
  readonly transformed: (call: LibraryCall, how: string, real: AnyFunction) => unknown;
  /** Runs a function of the runtime with the walk's place in force. */
  readonly placed: (call: LibraryCall, run: () => unknown) => unknown;
}

export function callArrays(world: LibraryWorld, call: LibraryCall): unknown {
  const model = world.model(call.library);
  if (model === undefined) return unknownResult(world, call, `what \`${call.name}\` does`);
  const entry = callOf(model, call.name);
  const { role } = entry ?? {};
  const verb = call.name.slice(call.name.lastIndexOf('.') + 1);
  switch (role?.kind) {
    case 'compiles':
      return world.compiles(call, role);
    case 'scope':
      return typeof call.args[0] === 'function'
        ? world.scope(() => (call.args[0] as AnyFunction)(), call)
        : unknownResult(world, call, 'the scope');
    case 'donateMark':
      return world.tracing() ? call.args[0] : new DonateMark(call.args[0]);
    case 'plansOnly':
      return new Unknown('what planning a call says');
    case 'transforms': {
      const real = runtimeFunction(call.name);
      if (real === undefined || typeof call.args[0] !== 'function') return unknownResult(world, call, `\`${call.name}\``);
      return world.tracing() ? world.placed(call, () => real(...call.args)) : world.transformed(call, role.how, real);
    }
  }
  if (entry?.arguments?.[0] === 'disposes' || (call.hasReceiver && model.free.includes(verb))) {
    const target = entry?.arguments?.[0] === 'disposes' ? call.args[0] : call.receiver;
    const leaves: readonly object[] = target instanceof UnknownArray ? [target] : arraysIn(target);
    const counted = model.convention === 'consumes';
    if (!world.tracing())
      for (const array of leaves) counted ? world.released(array, call, 'dispose') : world.freed(array, call, 'dispose');
    return undefined;
  }
  const receiver = call.receiver instanceof DonateMark ? call.receiver.value : call.receiver;
  const args = call.args.map((argument) => (argument instanceof DonateMark ? argument.value : argument));
  const marked = [call.receiver, ...call.args].filter((value) => value instanceof DonateMark);
  const result = entry?.reader === true ? new Unknown('the contents of an array') : compute(world, { ...call, receiver, args }, model);
  if (!world.tracing()) {
    for (const array of arraysIn(result)) if (isShaped(array)) world.made(array, call);
    if (result instanceof UnknownArray) world.made(result, call);
    // Operands are needed until the result is there.
    world.used([call.hasReceiver ? receiver : undefined, args], call);
    for (const mark of marked) for (const array of arraysIn(mark.value)) world.freed(array, call, 'donated');
    if (typeof entry?.result === 'object' && 'retains' in entry.result)
      for (const array of arraysIn(args[entry.result.retains])) world.retained(array);
    if (model.convention === 'consumes' && role === undefined) {
      for (const value of consumedBy(entry, call.hasReceiver && !isNamespace(receiver) ? receiver : undefined, args))
        for (const array of value instanceof UnknownArray ? [value] : arraysIn(value)) world.released(array, call, 'consumed');
    }
  }
  return result;
}

const isNamespace = (value: unknown): boolean => !isArray(value) && !(value instanceof UnknownArray);

/** What a call takes a reference of, where operations consume. */
function consumedBy(entry: Call | undefined, receiver: unknown, args: readonly unknown[]): readonly unknown[] {
  const given = entry?.arguments;
  const takes = (verb: string | undefined): boolean => verb === undefined || verb === 'consumes';
  return [
    ...(receiver !== undefined && takes(given?.receiver) ? [receiver] : []),
    ...args.filter((_, i) => takes(given?.[i] ?? given?.rest)),
  ];
}

function compute(world: LibraryWorld, asked: LibraryCall, model: LibraryModel): unknown {
  if (asked.construct) return unknownResult(world, asked, `a new ${asked.name}`);
  const onArray = asked.hasReceiver && asked.name.includes('.') && model.arrays.includes(asked.name.slice(0, asked.name.indexOf('.')));
  if (model.shapes !== undefined && !world.tracing()) {
    const rule = model.shapes[asked.name];
    const result = rule === undefined ? undefined : ruled(rule, onArray ? [asked.receiver, ...asked.args] : asked.args);
    return result ?? unknownResult(world, asked, `what \`${asked.name}\` yields`);
  }
  const made = creation(world, asked);
  if (made !== undefined) return made;
  // Axes and counts are numbers whatever their names.
  const call = world.named ? { ...asked, args: asked.args.map(plainArgument) } : asked;
  const method = onArray && isArray(call.receiver);
  const name = call.name.slice(call.name.lastIndexOf('.') + 1);
  const own: unknown = method ? Reflect.get(call.receiver as object, name) : (runtimeFunction(call.name) ?? ofResult(call.receiver, name));
  if (typeof own !== 'function') return unknownResult(world, call, `what \`${call.name}\` yields`);
  // Trees are the host's: what is in them doesn't matter.
  if (call.name.startsWith('tree.')) return world.placed(call, () => (own as AnyFunction)(...call.args));
  const unknown = holdsUnknown([call.hasReceiver ? call.receiver : undefined, call.args]);
  if (world.tracing() && unknown !== 'no') throw new CannotWalk(`an argument of \`${call.name}\` is not known`, call.span);
  if (unknown === 'array') return unknownResult(world, call, 'an array of unknown shape');
  const args = unknown === 'no' ? call.args : scalarsFor(call);
  if (args === undefined) return unknownResult(world, call, `an argument of \`${call.name}\``);
  try {
    const result = world.placed(call, () => (own as AnyFunction).apply(call.hasReceiver ? call.receiver : undefined, [...args]));
    return result instanceof LiteralValue ? shaped(result.aval) : result;
  } catch (error) {
    if (world.tracing() || error instanceof CannotWalk) throw error;
    return unknownResult(world, call, `what \`${call.name}\` yields`);
  }
}

/** A method of what the runtime itself returned: `set` of `x.at([0, 2])`. */
const ofResult = (receiver: unknown, name: string): unknown =>
  typeof receiver === 'object' && receiver !== null && Object.hasOwn(receiver, name) ? Reflect.get(receiver, name) : undefined;

/** Arrays are made of a shape whatever their contents; a shape may be symbolic. */
function creation(world: LibraryWorld, call: LibraryCall): unknown {
  if (world.tracing()) return undefined;
  const name = call.name.slice(call.name.lastIndexOf('.') + 1);
  const [first, second, third] = call.args;
  switch (call.name) {
    case 'numpy.zeros':
    case 'numpy.ones':
    case 'numpy.empty':
      return ofShape(first, second);
    case 'numpy.full':
      return ofShape(first, third, typeof second === 'boolean' ? 'bool' : 'float32');
    case 'random.normal':
    case 'random.uniform':
      return ofShape(second, third);
    case 'numpy.arange':
      return first instanceof Unknown && second === undefined
        ? ofShape([first], undefined)
        : first instanceof Unknown && isPlainDtype(second)
          ? ofShape([first], second)
          : undefined;
    case 'numpy.eye':
      return first instanceof Unknown ? ofShape([first, first], undefined) : undefined;
    case 'numpy.array':
    case 'numpy.asarray':
    case 'devicePut':
      return ofHost(first, second);
    default:
      return name === 'key' && isUnknown(first) ? shaped({ shape: [2], dtype: 'uint32' }) : undefined;
  }
}

const elementwise =
  /(^|\.)(add|sub|subtract|mul|multiply|div|divide|trueDivide|pow|power|maximum|minimum|where|mod|greater|less|greaterEqual|lessEqual|equal|notEqual|clip)$/;

/** Unknown numbers beside arrays are scalars: any number gives the same shapes. */
function scalarsFor(call: LibraryCall): readonly unknown[] | undefined {
  if (!elementwise.test(call.name)) return undefined;
  return call.args.map((argument) => (isUnknown(argument) ? 0.5 : argument));
}

export function unknownResult(world: LibraryWorld, call: LibraryCall, why: string): unknown {
  if (world.tracing()) throw new CannotWalk(why, call.span);
  return unknownOf(call.resultType, why, undefined, call.span);
}

/** Properties of arrays: metadata, and references where a library counts them. */
export function readArray(object: unknown, key: string, retain: string | undefined): { readonly value: unknown } | undefined {
  if (object instanceof DonateMark) return readArray(object.value, key, retain);
  if (object instanceof UnknownArray) {
    if (key === retain) return { value: object };
    return key === 'isDisposed' || key === 'dtype' || key === 'shape' || key === 'size'
      ? { value: new Unknown(`\`${key}\` of an array of unknown shape`) }
      : undefined;
  }
  if (!isArray(object)) return undefined;
  const { shape, dtype } = object.aval;
  const value = (dim: Dim): unknown => (isKnown(dim) ? dim : new Unknown('a size', dim));
  switch (key) {
    case 'shape':
      return { value: shape.map(value) };
    case 'dtype':
      return { value: dtype };
    case 'ndim':
    case 'rank':
      return { value: shape.length };
    case 'size':
      return { value: value(productOf(shape)) };
    case 'isDisposed':
      return { value: new Unknown('whether an array is disposed') };
    case 'nbytes':
      return { value: new Unknown('bytes of an array') };
    default:
      return key === retain ? { value: object } : undefined;
  }
}
