/**
 * `jit`: a function of trees as a compiled program, traced once per shapes, dtypes and static arguments.
 *
 * Depends on: core, ops, trace, ir, compile, arguments, bound-name, execute, parameters, plans.
 */
import { knownBytes, printAval } from '../core/aval.ts';
import { readBytes } from '../core/bytes.ts';
import { bytesText, donationUnusable, typeError } from '../core/errors.ts';
import { currentInterpreter, placeInForce } from '../core/interpreter.ts';
import type { Program } from '../core/program.ts';
import type { Place } from '../core/source.ts';
import { printPlace, userPlace, written } from '../core/stack.ts';
import { flatten, leafPaths, rebuild, type Structure } from '../core/tree.ts';
import { Value } from '../ops/value.ts';
import { printProgram } from '../ir/print.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { asValue, trace } from '../trace/trace.ts';
import type { Analysis, Better, Executable } from '../compile/executable.ts';
import { currentSink, nowMs } from '../device/memory-events.ts';
import { readArguments, type Arguments, type Naming } from './arguments.ts';
import { argumentText, displayName } from './bound-name.ts';
import { device } from './current.ts';
import { capturesOf, runCall, type Captured, type PlanOptions } from './execute.ts';
import { asWritten, parametersOf, type Parameters } from './parameters.ts';
import { compilePlanned, searchLater } from './plans.ts';

export interface JitOptions {
  /** Arguments whose buffers the call may reuse; negative ones count from the end. They are dead afterwards. */
  readonly donateArgnums?: number | readonly number[];
  /** The same by parameter name. Minified code loses names: use `donateArgnums` there. */
  readonly donateArgnames?: string | readonly string[];
  /** Arguments that aren't traced: a new value is a new program. */
  readonly staticArgnums?: number | readonly number[];
  /** "strict": a donation that lowers the peak by nothing is a `DonationError` at the first call of a trace. */
  readonly donate?: 'strict';
  /** "min": waits for the search of the planner. "fast": never searches. Absent: searches between tasks, and the next call has the better plan. */
  readonly memory?: 'fast' | 'min';
  /** Most bytes that the call may need, arguments included: values are recomputed until the plan fits, or the first call of a trace fails before anything runs. Bytes, or text like "512MiB". */
  readonly memoryBudget?: number | string;
}

/** What a compiled program will do, without running it. All figures in bytes. */
export interface Lowered {
  readonly peakBytes: number;
  readonly argumentBytes: number;
  readonly outputBytes: number;
  /** Sum of the donated leaves whose buffer an output takes over. */
  readonly aliasBytes: number;
  readonly tempBytes: number;
  /** Everything that is known: lower bound, gap, copies, values by line, and what each donation choice would save. */
  memoryAnalysis(): Analysis;
  /** The planned peak if exactly these arguments were donated. */
  peakWith(donateArgnums: readonly number[]): number;
  toString(): string;
}

export interface Jitted<A extends unknown[], R> {
  (...args: A): R;
  /** Traces and plans for these arguments without running; consumes and donates nothing. */
  lower(...args: A): Lowered;
  /** Drops the compiled programs and the constants they hold. */
  dispose(): void;
}

interface Traced {
  readonly program: TracedProgram;
  executable: Executable;
  /** Found meanwhile: the next call has it. */
  better: Better | undefined;
  readonly result: Structure;
  readonly captured: Captured;
  readonly weak: readonly boolean[];
}

type Call = (this: unknown, ...args: unknown[]) => unknown;

/** Which positions of a function's arguments are donated; functions that donate carry it for transformations of them. */
export const donatedPositions: unique symbol = Symbol('donated positions');
export interface Donating {
  readonly [donatedPositions]?: readonly number[];
}

const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly T[]) : [value as T];

/** Positions counted from 0, checked against the parameters. */
function positionsOf(option: string, given: readonly number[], parameters: Parameters | undefined, name: Naming): readonly number[] {
  const count = parameters === undefined || parameters.open ? undefined : parameters.names.length;
  return given.map((position) => {
    const own = position < 0 && count !== undefined ? position + count : position;
    if (!Number.isInteger(own) || own < 0 || (count !== undefined && own >= count))
      throw typeError(`jit of \`${name()}\`: ${option} has ${position}, and it takes ${count ?? 'no such'} arguments`);
    return own;
  });
}

function namedPositions(given: readonly string[], parameters: Parameters | undefined, name: Naming): readonly number[] {
  return given.map((own) => {
    const names = parameters?.names ?? [];
    if (names.includes(own)) return names.indexOf(own);
    // A bundler that avoids shadowing turns `params` into `params2`.
    const renamed = names.flatMap((n, position) =>
      n !== undefined && n.startsWith(own) && /^\d+$/.test(n.slice(own.length)) ? [position] : [],
    );
    if (renamed.length === 1) return renamed[0]!;
    const known =
      parameters === undefined
        ? 'its parameters have no names here'
        : `its parameters are ${parameters.names.map((n) => n ?? '{…}').join(', ')}`;
    throw typeError(`jit of \`${name()}\`: donateArgnames has "${own}", and ${known}; minified code loses names: use donateArgnums there`);
  });
}

function bytesOfBudget(budget: number | string | undefined, name: Naming): number | undefined {
  if (budget === undefined) return undefined;
  const bytes = typeof budget === 'number' ? budget : readBytes(budget);
  if (bytes === undefined || !(bytes > 0))
    throw typeError(
      `jit of \`${name()}\`: memoryBudget is ${typeof budget === 'string' ? `"${budget}"` : budget}, and takes bytes, or a size like "512MiB"`,
    );
  return bytes;
}

export interface JitSource {
  /** The function as the user wrote it, for names. */
  readonly original?: (...args: never[]) => unknown;
  /** Donations come from reference counts: one that lowers nothing is no mistake of the user's. */
  readonly automatic?: boolean;
}

export function jitFunction(
  f: Call,
  options: JitOptions = {},
  source: JitSource = {},
): Call & { lower: (...args: unknown[]) => Lowered; dispose: () => void } & Donating {
  const original = source.original ?? f;
  const made = userPlace();
  const name: Naming = () => displayName(original.name, made);
  const parameters = asWritten(parametersOf(original), () => argumentText(made));
  const statics = positionsOf('staticArgnums', listOf(options.staticArgnums), parameters, name);
  const donated = [
    ...new Set([
      ...positionsOf('donateArgnums', listOf(options.donateArgnums), parameters, name),
      ...namedPositions(listOf(options.donateArgnames), parameters, name),
    ]),
  ];
  const both = donated.find((position) => statics.includes(position));
  if (both !== undefined) throw typeError(`jit of \`${name()}\`: argument ${both} is static and donated, and can be only one of them`);
  const memoryBudget = bytesOfBudget(options.memoryBudget, name);
  const plan: PlanOptions = {
    ...(options.memory ? { memory: options.memory } : {}),
    ...(memoryBudget !== undefined ? { memoryBudget } : {}),
  };
  const cache = new Map<string, Traced>();
  let last: Arguments | undefined;

  const argumentsOf = (args: readonly unknown[]): Arguments => readArguments(args, { statics, donated, parameters, name });
  const tracedFor = (given: Arguments, self: unknown, place: Place | undefined): Traced => {
    const known = cache.get(given.key);
    if (known !== undefined && known.captured.device === device()) return withBetterPlan(known);
    if (last !== undefined)
      currentSink()?.({
        kind: 'mark',
        at: nowMs(),
        name: 'retrace',
        text: retraceText(name(), last, given, cache.size + 1),
      });
    last = given;
    const made = traceCall(f, given, { self, name, plan, original: original.name });
    if (source.automatic !== true) refuseUnusable(made.executable, given, { options, place });
    cache.set(given.key, made);
    if (plan.memory === undefined && plan.memoryBudget === undefined)
      searchLater(made.executable, (better) => {
        made.better = better;
      });
    return made;
  };

  const call = function (this: unknown, ...args: unknown[]): unknown {
    // Inside of a trace a compiled function is part of it: inlined, and its donation has no effect of its own.
    if (currentInterpreter().run === undefined) return f.apply(this, args);
    const place = placeInForce() ?? userPlace();
    const given = argumentsOf(args);
    const { executable, captured, weak, result } = tracedFor(given, this, place);
    const outputs = runCall({ executable, leaves: given.leaves, captures: captured.arrays, weak, place });
    return rebuild(result, outputs);
  };
  const lower = (...args: unknown[]): Lowered => {
    const given = argumentsOf(args);
    const known = cache.get(given.key);
    const { executable, program } =
      known === undefined ? traceCall(f, given, { self: undefined, name, plan, original: original.name }) : withBetterPlan(known);
    return lowered(executable, program, given);
  };
  const dispose = (): void => {
    for (const { captured } of cache.values())
      for (const array of captured.arrays) if (captured.own.includes(array.buffer)) array.dispose();
    cache.clear();
  };
  return Object.assign(Object.defineProperty(call, 'name', { get: name, configurable: true }), {
    lower,
    dispose,
    ...(donated.length > 0 ? { [donatedPositions]: donated } : {}),
  });
}

function withBetterPlan(traced: Traced): Traced {
  if (traced.better === undefined) return traced;
  traced.executable = traced.better.executable();
  traced.better = undefined;
  return traced;
}

/** What is different this time, by the paths of the arguments. */
function retraceText(name: string, before: Arguments, given: Arguments, programs: number): string {
  const former = new Map(before.leaves.map((leaf) => [leaf.path, leaf.aval]));
  const changed = given.leaves.flatMap(({ path, aval }) => {
    const was = former.get(path);
    return was !== undefined && printAval(was) === printAval(aval)
      ? []
      : [`${path} ${was === undefined ? 'nothing' : printAval(was)} → ${printAval(aval)}`];
  });
  return `${name}: ${changed.length === 0 ? 'a static argument, the structure, or what is donated changed' : changed.join(', ')}; ${programs} programs`;
}

interface TraceContext {
  readonly self: unknown;
  readonly name: Naming;
  readonly plan: PlanOptions;
  /** The function's own name, which the program has. */
  readonly original: string;
}

function traceCall(f: Call, given: Arguments, { self, name, plan, original }: TraceContext): Traced {
  let result: Structure | undefined;
  const program = trace(
    original || 'anonymous',
    (values) => {
      const flat = flatten(f.apply(self, given.withLeaves(values)));
      result = flat.structure;
      const paths = leafPaths(flat.structure, 'result');
      return flat.leaves.map((leaf, k) => asValue(leaf, paths[k]!));
    },
    given.leaves.map((leaf) => leaf.aval),
    { called: () => (name().startsWith('the function at') ? name() : `\`${name()}\``) },
  );
  const donated = given.leaves.map((leaf) => leaf.donated);
  const executable = compilePlanned(program, donated, {
    ...plan,
    name: name(),
    paths: given.leaves.map((leaf) => leaf.path),
    argnums: given.argnums,
  });
  return {
    program,
    executable,
    better: undefined,
    result: result!,
    captured: capturesOf(program as Program),
    weak: program.outputs.map((atom) => atom.aval.weak === true),
  };
}

/** Donations with which the planned peak is the same as without: one warning, or an error before anything ran. */
function refuseUnusable(
  executable: Executable,
  given: Arguments,
  { options, place }: { readonly options: JitOptions; readonly place: Place | undefined },
): void {
  const useless = executable.analysis.donated.filter(({ input, outcome }) => {
    const leaf = given.leaves[input];
    if (outcome === 'aliased' || leaf === undefined || !(leaf.value instanceof Value) || knownBytes(leaf.aval) === 0) return false;
    // An output of its size that nobody took: the pairing is the planner's affair, no mistake of the user's.
    if (
      executable.outputs.some(
        (output) => output.kind === 'stored' && output.alias === undefined && knownBytes(output.aval) === knownBytes(leaf.aval),
      )
    )
      return false;
    return executable.peakWith(executable.donated.map((flag, k) => flag && k !== input)) <= executable.analysis.peakBytes;
  });
  if (useless.length === 0) return;
  const entries = useless.map(
    ({ input, bytes, reason }) =>
      `\`${given.leaves[input]!.path}\` ${printAval(given.leaves[input]!.aval)}, ${bytesText(bytes)}: ${reason ?? 'no output can take its buffer'}`,
  );
  const error = donationUnusable(executable.name, printPlace(place), entries);
  if (options.donate === 'strict') throw error;
  console.warn(error.message);
}

function lowered(executable: Executable, program: TracedProgram, given: Arguments): Lowered {
  const { analysis } = executable;
  return {
    peakBytes: analysis.peakBytes,
    argumentBytes: analysis.argumentBytes,
    outputBytes: analysis.outputBytes,
    aliasBytes: analysis.aliasBytes,
    tempBytes: analysis.tempBytes,
    memoryAnalysis: () => inSources(analysis),
    peakWith: (argnums) => executable.peakWith(given.argnums.map((position) => argnums.includes(position))),
    toString: () => `${printProgram(program as Program)}\n\n${executable.print()}`,
  };
}

/** The same figures, with the places of the sources as people wrote them. */
const inSources = (analysis: Analysis): Analysis => {
  const own: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(analysis);
  return Object.defineProperties(
    {},
    { ...own, places: { value: analysis.places.map((place) => place && written(place)), enumerable: true } },
  ) as Analysis;
};
