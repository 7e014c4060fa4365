/**
 * Every error that a user can meet, one function each.
 *
 * A message says what happened to which array, where it was done, and what to do. `code` is the id of the static rule
 * where there is one, and the error's anchor in the README. Depends on: interpreter, stack.
 */
import { printAval, type Aval } from './aval.ts';
import { placeInForce } from './interpreter.ts';
import type { Place } from './source.ts';
import { madeHere, printPlace, userPlace, withUsersStack } from './stack.ts';

export class TidemarkError extends Error {
  readonly code: string;
  constructor(code: string, what: string, notes: readonly string[], fix: string) {
    super([what, ...notes.map((note) => `  - ${note}`), `fix: ${fix}  [${code}]`].join('\n'));
    this.name = 'TidemarkError';
    this.code = code;
    withUsersStack(this);
  }
}

/** An array was used after it was donated or disposed. */
export class ArrayDeletedError extends TidemarkError {
  override readonly name = 'ArrayDeletedError';
}

/** A donation that can't be carried out; nothing was executed and every argument is alive. */
export class DonationError extends TidemarkError {
  override readonly name = 'DonationError';
}

/** Shapes or dtypes that don't go together. */
export class ShapeError extends TidemarkError {
  override readonly name = 'ShapeError';
  constructor(code: string, what: string, notes: readonly string[], fix: string) {
    const place = placeInForce() ?? userPlace();
    super(code, what, place === undefined ? notes : [...notes, `at ${printPlace(place)}`], fix);
  }
}

/** An argument that a function can't work with; nothing was computed. */
export class ArgumentError extends TidemarkError {
  override readonly name = 'ArgumentError';
  constructor(code: string, what: string, notes: readonly string[], fix: string) {
    const place = placeInForce() ?? userPlace();
    super(code, what, place === undefined ? notes : [...notes, `at ${printPlace(place)}`], fix);
  }
}

/** No room for the request; the device stays usable and everything alive stays intact. */
export class OutOfMemoryError extends TidemarkError {
  override readonly name = 'OutOfMemoryError';
}

/** The device was lost or destroyed. */
export class DeviceLostError extends TidemarkError {
  override readonly name = 'DeviceLostError';
}

/** An argument of a wrong kind: what JavaScript itself calls a `TypeError`, with the line of the user's program. */
export const typeError = (what: string): TypeError =>
  withUsersStack(new TypeError([what, ...here().map((note) => `  - ${note}`)].join('\n')));

/** The line that is running, when it is known. */
function here(what = ''): readonly string[] {
  const place = placeInForce() ?? userPlace();
  return place === undefined ? [] : [`${what}at ${printPlace(place)}`];
}

export function readAfterDonation(array: string, donatedTo: string, donatedAt: string, madeAt: string): ArrayDeletedError {
  return new ArrayDeletedError(
    'use-after-donate',
    `${array} was read after its buffer was donated`,
    [`made at ${madeAt}`, `donated to ${donatedTo} at ${donatedAt}`, ...here('read ')],
    'read it before that call, or leave that argument out of donateArgnums',
  );
}

export function readAfterDispose(array: string, disposedAt: string, madeAt: string): ArrayDeletedError {
  return new ArrayDeletedError(
    'use-after-dispose',
    `${array} was read after it was disposed`,
    [`made at ${madeAt}`, `disposed at ${disposedAt}`, ...here('read ')],
    'dispose it after its last use',
  );
}

export function shapesDisagree(operation: string, shapes: readonly string[], why: string): ShapeError {
  return new ShapeError('shape', `\`${operation}\` got ${shapes.join(' and ')}: ${why}`, [], 'make the shapes agree');
}

export function axisOutOfRange(operation: string, axis: number, array: string): ShapeError {
  return new ShapeError(
    'shape',
    `\`${operation}\` got axis ${axis} for ${array}, which has no such axis`,
    [],
    'count axes from 0, or from -1 at the end',
  );
}

export function wrongDType(operation: string, array: string, wanted: string): ShapeError {
  return new ShapeError('dtype', `\`${operation}\` got ${array}, and needs ${wanted}`, [], 'convert it with astype');
}

export function argumentWrong(operation: string, got: string, instead: string): ArgumentError {
  return new ArgumentError('argument', `\`${operation}\` got ${got}`, [], instead);
}

const engineFault =
  /^Cannot (?:read|convert|mix|set|destructure)|is not (?:a function|iterable|a constructor)|Invalid array length|Reduce of empty|Spread syntax|undefined is not/;
/**
 * What the engine throws where an argument is of no known kind becomes a sentence with the arguments. Errors of the user's
 * own functions, and ours, pass as they are.
 */
export function explained(fault: unknown, operation: string, args: readonly unknown[]): unknown {
  if (!(fault instanceof TypeError || fault instanceof RangeError) || !engineFault.test(fault.message) || !madeHere(fault)) return fault;
  const wrong = argumentWrong(
    operation,
    `(${args.map(describe).join(', ')}), which it can't work with`,
    'compare them with its parameters',
  );
  return Object.assign(wrong, { cause: fault });
}

/** A function is needed. */
export function functionArg(operation: string, what: string, value: unknown): void {
  if (typeof value !== 'function') throw argumentWrong(operation, `${describe(value)} as ${what}`, 'give it a function');
}

export function axisNameUnknown(name: unknown, known: readonly string[]): ArgumentError {
  return new ArgumentError(
    'axis-name',
    `there is no axis named \`${typeof name === 'string' ? name : describe(name)}\` here`,
    known.length === 0 ? [] : [`there is ${known.map((own) => `\`${own}\``).join(', ')}`],
    'call it inside pmap or vmap with that axisName',
  );
}

/** What stands where an array has to be. */
export function notAnArray(operation: string, value: unknown): ArgumentError {
  const instead =
    Array.isArray(value) || ArrayBuffer.isView(value)
      ? 'make an array of it with np.array(…)'
      : value instanceof Promise
        ? 'await it first'
        : value === undefined
          ? 'pass an array or a number; is an argument missing, or a return?'
          : 'pass an array or a number';
  return argumentWrong(operation, `${describe(value)} where an array has to be`, instead);
}

/** A value for people: arrays by shape, everything else by kind. */
export function describe(value: unknown): string {
  if (value === undefined || value === null) return `\`${String(value)}\``;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value !== 'object') return `\`${String(value)}\``;
  if (Array.isArray(value))
    return value.length <= 4 && value.every((item) => typeof item === 'number') ? `the list [${value.join(', ')}]` : 'a list';
  if (ArrayBuffer.isView(value) || value instanceof Promise) return `a ${value.constructor.name}`;
  if ('aval' in value) return printAval(value.aval as Aval);
  const names = Object.keys(value);
  return names.length > 0 && names.length <= 4 ? `an object { ${names.join(', ')} }` : 'an object';
}

export function tracerEscaped(array: string, traced: string, madeAt: string): TidemarkError {
  return new TidemarkError(
    'tracer-escape',
    `${array} was made while ${traced} was traced, and is used after that`,
    [`made at ${madeAt}`],
    'return it from the traced function instead of storing it',
  );
}

export interface Shortage {
  readonly request: number;
  readonly limit: number;
  readonly inUse: number;
  readonly free: number;
  readonly largestHole: number;
  /** No single buffer of the device can be larger. */
  readonly largestBuffer: number;
  /** What is alive, by line, largest first. */
  readonly arrays: readonly { readonly place: string; readonly bytes: number; readonly count: number; readonly what: string }[];
  /** A collection was asked for in vain: handles that a synchronous loop dropped can't be collected before it ends. */
  readonly synchronous: boolean;
}

const binaryUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
/** Bytes for people: 1.5 MiB. */
export function bytesText(bytes: number): string {
  const unit = Math.min(binaryUnits.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return unit === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** unit).toFixed(1)} ${binaryUnits[unit]!}`;
}

const mostLines = 8;

export function outOfMemory({ request, limit, inUse, free, largestHole, largestBuffer, arrays, synchronous }: Shortage): OutOfMemoryError {
  const shown = arrays
    .slice(0, mostLines)
    .map(
      ({ place, bytes, count, what }) => `${bytesText(bytes)} in ${count === 1 ? what : `${count} arrays, the first ${what}`} at ${place}`,
    );
  const rest = arrays.slice(mostLines).reduce((sum, { bytes }) => sum + bytes, 0);
  return new OutOfMemoryError(
    'out-of-memory',
    `out of memory: ${bytesText(request)} were asked for`,
    [
      `${bytesText(inUse)} of ${bytesText(limit)} are in use, ${bytesText(free)} are free, the largest hole has ${bytesText(largestHole)}`,
      ...(request > largestBuffer ? [`one buffer of this device has at most ${largestBuffer} bytes, and ${request} were asked for`] : []),
      ...shown,
      ...(rest > 0 ? [`${bytesText(rest)} in arrays of other lines`] : []),
      ...(synchronous ? ['arrays that a loop without `await` has dropped are not collected before it ends'] : []),
    ],
    'donate or dispose what is no longer needed, use `scope` or `using` in loops, or raise the limit by `init({ memory: { limit } })` or TIDEMARK_MEM_LIMIT',
  );
}

export interface BudgetBuffer {
  /** The argument by its path, or the array by shape. */
  readonly what: string;
  readonly bytes: number;
  readonly place: Place | undefined;
}

export interface BudgetShortage {
  readonly name: string;
  readonly budget: number;
  /** Planned peak without and with recomputing. */
  readonly before: number;
  readonly peak: number;
  readonly recomputed: number;
  /** The fewest that are alive together and exceed the budget; empty when only the gaps between them do. */
  readonly buffers: readonly BudgetBuffer[];
  readonly at: Place | undefined;
}

/** `memoryBudget`: nothing was executed. */
export function budgetTooSmall({ name, budget, before, peak, recomputed, buffers, at }: BudgetShortage): OutOfMemoryError {
  const together = buffers.reduce((sum, { bytes }) => sum + bytes, 0);
  const where = at === undefined ? '' : ` at ${printPlace(at)}`;
  return new OutOfMemoryError(
    'out-of-memory',
    `\`${name}\` needs ${bytesText(peak)} (${peak} bytes), and its memoryBudget is ${bytesText(budget)}`,
    [
      recomputed === 0
        ? 'there is nothing that computing again would lower it by'
        : `computing ${recomputed === 1 ? 'one value' : `${recomputed} values`} again lowers it from ${bytesText(before)}, and nothing was found that lowers it further`,
      ...(buffers.length === 0
        ? ['what is alive at one time would fit, and no order and placement was found in which it does']
        : [
            `${buffers.length === 1 ? 'this buffer alone is too large' : `these ${buffers.length} buffers are needed at the same time${where}, and are ${bytesText(together)} together`}:`,
          ]),
      ...buffers.map(
        ({ what, bytes, place }) => `${bytesText(bytes)} in ${what}${place === undefined ? '' : `, made at ${printPlace(place)}`}`,
      ),
      'nothing was executed, and no argument was donated',
    ],
    'raise memoryBudget to what it needs, donate arguments that are not read again, or work on smaller batches',
  );
}

/** A dtype that the device doesn't compute with; nothing was queued. */
export function halfUnavailable(array: string, place: Place | undefined): TypeError {
  return withUsersStack(
    new TypeError(
      `${array}${place === undefined ? '' : ` at ${printPlace(place)}`}, is float16, and this device does not compute with 16-bit floats\n` +
        "fix: use float32 (`astype('float32')`, `{ dtype: 'float32' }`), or the cpu device (`init('cpu')`, TIDEMARK_DEVICE=cpu)",
    ),
  );
}

/** The device did not run what it was given: a fault of this runtime or of the driver, never of the program. */
export function refusedByDevice(reason: string): TidemarkError {
  return new TidemarkError(
    'device-refused',
    'the device refused a part of the work, so its results are not to be trusted',
    reason.trim().split('\n').slice(0, 3),
    'please report it with the program; on the cpu it computes without this device: `init("cpu")` or TIDEMARK_DEVICE=cpu',
  );
}

export function deviceLost(reason: string): DeviceLostError {
  return new DeviceLostError(
    'device-lost',
    `the device was lost: ${reason}`,
    ['arrays on it are gone'],
    'call `init()` for a new device and put the arrays on it again',
  );
}

export function noDevice(tried: readonly string[]): TidemarkError {
  return new TidemarkError(
    'no-device',
    'no WebGPU device was found',
    tried,
    'install a GPU driver, or software Vulkan (`npm run build` of tidemark unpacks SwiftShader; Debian: `apt install chromium`), or set TIDEMARK_DEVICE=cpu',
  );
}

export function settingTooLate(setting: string): TidemarkError {
  return new TidemarkError(
    'late-setting',
    `\`${setting}\` comes after the device was first used`,
    ['memory is already laid out'],
    'call `init` before the first array is made, or set the environment variable at the start of the process',
  );
}

export function settingUnknown(setting: string, value: string, allowed: string): TidemarkError {
  return new TidemarkError('unknown-setting', `\`${setting}\` is ${value}`, [], `give it ${allowed}`);
}

export function deviceNotReady(): TidemarkError {
  return new TidemarkError(
    'no-device',
    'the WebGPU device is not open yet',
    ['opening a device takes a moment that only `await` can wait for'],
    '`await init()` before the first array is made, or set TIDEMARK_DEVICE=cpu',
  );
}

/** One buffer twice in a call: donated twice, or donated and also read. */
export function donatedTwice(
  array: string,
  first: string,
  second: string,
  how: 'donated twice' | 'donated and also read',
  call: { readonly to: string; readonly at: string; readonly madeAt: string },
): DonationError {
  return new DonationError(
    'double-donate',
    `${array} is ${how} in one call: as \`${first}\` and as \`${second}\``,
    [`made at ${call.madeAt}`, `passed to \`${call.to}\` at ${call.at}`, 'nothing was executed, and no argument was donated'],
    'pass a copy() for one of them, or donate neither',
  );
}

/** A handle of `donate(x)` that can't be used. */
export function donationSpent(array: string, why: string, madeAt: string): DonationError {
  return new DonationError(
    'double-donate',
    `${array} can't be donated: ${why}`,
    [`made at ${madeAt}`, ...here()],
    'call donate() anew on an array that is alive, directly in the call that takes it',
  );
}

/** `donate: 'strict'`: a donation that lowers nothing. */
export function donationUnusable(program: string, calledAt: string, entries: readonly string[]): DonationError {
  return new DonationError(
    'unusable-donation',
    `donating to \`${program}\` lowers its peak by nothing`,
    [...entries, `called at ${calledAt}`],
    'leave these arguments out of donateArgnums, and dispose them after the call',
  );
}

export function peakOverBudget(peak: string, limit: string, start: string): TidemarkError {
  return new TidemarkError(
    'peak-over-budget',
    `the peak was ${peak}, and at most ${limit} was expected`,
    [`${start} were in use before it began`],
    'see the lines that make the peak with `tidemark profile --command -- …`, then free or donate arrays before it, or raise the limit',
  );
}
