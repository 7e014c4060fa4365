/**
 * The base interpreter: outside of any transformation an op is a program of one equation, compiled once and run.
 *
 * Numbers are literals of that program until the same op saw too many different ones; from then on they are operands, so
 * a learning rate that changes doesn't compile again. Composed functions and gradients come as whole programs.
 * Depends on: core, ops, ir, trace, execute.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { at, currentInterpreter, placeInForce, setBaseInterpreter, type Interpreter, type Numbers } from '../core/interpreter.ts';
import type { Equation, Parameter, Parameters, Program } from '../core/program.ts';
import type { Place } from '../core/source.ts';
import { userPlace } from '../core/stack.ts';
import { flatten, printStructure, rebuild, type Structure } from '../core/tree.ts';
import type { Entry } from '../ops/apply.ts';
import { literalValue, LiteralValue, Value } from '../ops/value.ts';
import { isProgram, printProgram } from '../ir/print.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { asValue, knownAvalOf, trace } from '../trace/trace.ts';
import type { Executable } from '../compile/executable.ts';
import { DeviceArray, DonatedArray } from './array.ts';
import { device } from './current.ts';
import { capturesOf, compileProgram, runCall, type Captured, type Leaf } from './execute.ts';
import { scope } from './scope.ts';

interface Compiled {
  readonly executable: Executable;
  readonly weak: readonly boolean[];
  readonly captured: Captured;
  readonly result: Structure | undefined;
}

const literalsPerOp = 6;
const cacheEntries = 2000;

/** Least recently used first; what falls out gives back what was uploaded for it. */
class Cache {
  private readonly entries = new Map<string, Compiled>();
  get(key: string): Compiled | undefined {
    const found = this.entries.get(key);
    if (found === undefined) return undefined;
    if (found.captured.device !== device()) {
      this.entries.delete(key);
      return undefined;
    }
    this.entries.delete(key);
    this.entries.set(key, found);
    return found;
  }
  set(key: string, compiled: Compiled): Compiled {
    this.entries.set(key, compiled);
    if (this.entries.size > cacheEntries) {
      // The first is never the new one: that is the last.
      const [oldest, old] = this.entries.entries().next().value!;
      this.entries.delete(oldest);
      for (const array of old.captured.arrays) if (old.captured.own.includes(array.buffer)) array.dispose();
    }
    return compiled;
  }
}
const cache = new Cache();

const entryOf = (program: Program<Entry>, leaves: readonly Leaf[], result: Compiled['result']): Compiled => ({
  executable: compileProgram(
    program,
    leaves.map((leaf) => leaf.donated),
  ),
  weak: weakOf(program as Program),
  captured: capturesOf(program as Program),
  result,
});
const literalsSeen = new Map<string, Set<string>>();

const typeKey = (aval: KnownAval): string => `${printAval(aval)}${aval.weak ? '*' : ''}`;

function parametersKey(parameter: Parameter): string {
  if (Array.isArray(parameter)) return `[${(parameter as readonly Parameter[]).map(parametersKey).join(',')}]`;
  if (typeof parameter === 'object')
    return isProgram(parameter)
      ? printProgram(parameter)
      : `{${Object.entries(parameter as Parameters)
          .map(([name, value]) => `${name}:${parametersKey(value)}`)
          .join(',')}}`;
  return Object.is(parameter, -0) ? '-0' : String(parameter);
}

const leafOf = (value: Value, k: number): Leaf => ({
  value,
  path: `operand ${k}`,
  donated: value instanceof DonatedArray,
  aval: knownAvalOf(value),
});
const weakOf = (program: Program): readonly boolean[] => program.outputs.map((atom) => atom.aval.weak === true);

function apply(op: Entry, operands: readonly Value[], parameters: Parameters, place: Place | undefined): readonly Value[] {
  for (const operand of operands) operand.ensureAlive();
  const text = `${op.id} ${parametersKey(parameters)}`;
  const types = operands.map((x) => typeKey(knownAvalOf(x)) + (x instanceof DonatedArray ? '!' : '')).join(' ');
  const literals = operands
    .flatMap((x) => (x instanceof LiteralValue ? [`${typeof x.literal}${Object.is(x.literal, -0) ? '-0' : String(x.literal)}`] : []))
    .join(' ');
  const inline = literals === '' || fewLiterals(`${text} ${types}`, literals);
  const key = `op ${text} ${types}${inline ? ` = ${literals}` : ''}`;
  const isInline = (x: Value): boolean => x instanceof LiteralValue && inline;
  const arrays = operands.filter((x) => !isInline(x));
  const leaves = arrays.map(leafOf);
  let compiled = cache.get(key);
  if (compiled === undefined) {
    const program = unplaced(
      trace(
        op.id,
        (inputs) => {
          let next = 0;
          const own = operands.map((x) => (isInline(x) ? x : inputs[next++]!));
          return at(place, () => applyInside(op, own, parameters));
        },
        arrays.map(knownAvalOf),
      ),
    );
    compiled = cache.set(key, entryOf(program, leaves, undefined));
  }
  return runCall({ executable: compiled.executable, leaves, captures: compiled.captured.arrays, weak: compiled.weak, place });
}

function fewLiterals(key: string, literals: string): boolean {
  const seen = literalsSeen.get(key) ?? new Set<string>();
  literalsSeen.set(key, seen);
  if (!seen.has(literals) && seen.size >= literalsPerOp) return false;
  seen.add(literals);
  return true;
}

const applyInside = (op: Entry, operands: readonly Value[], parameters: Parameters): readonly Value[] =>
  currentInterpreter().apply(op, operands, parameters, undefined) as readonly Value[];

/** Programs of eager calls are shared by all callers: their values belong to the line of the call. */
function unplaced(program: TracedProgram): TracedProgram {
  const strip = (parameter: Parameter): Parameter => {
    if (Array.isArray(parameter)) return (parameter as readonly Parameter[]).map(strip);
    if (typeof parameter !== 'object') return parameter;
    if (isProgram(parameter)) return unplaced(parameter as TracedProgram) as Program;
    return Object.fromEntries(Object.entries(parameter as Parameters).map(([name, value]) => [name, strip(value)]));
  };
  return {
    ...program,
    equations: program.equations.map((equation): Equation<Entry> => ({
      ...equation,
      place: undefined,
      parameters: strip(equation.parameters) as Parameters,
    })),
  };
}

/** A whole program, as gradients and batched functions make them; found again by its text. */
function run(program: Program, operands: readonly Value[], place: Place | undefined): readonly Value[] {
  const traced = program as TracedProgram;
  const leaves = operands.map(leafOf);
  const captured = capturesOf(program);
  // Captured arrays are operands of the call: the compiled program is shared by calls with other arrays.
  const key = `program ${printProgram(program, { places: true })} ${leaves.map((leaf) => (leaf.donated ? '!' : '.')).join('')}`;
  let compiled = cache.get(key);
  compiled ??= cache.set(key, {
    executable: compileProgram(
      traced,
      leaves.map((leaf) => leaf.donated),
    ),
    weak: weakOf(program),
    captured: { arrays: [], own: [], device: device() },
    result: undefined,
  });
  try {
    return runCall({ executable: compiled.executable, leaves, captures: captured.arrays, weak: compiled.weak, place });
  } finally {
    for (const array of captured.arrays) if (captured.own.includes(array.buffer)) array.dispose();
  }
}

function composed<A extends readonly unknown[], R>(name: string, f: (...args: A) => R, given: A, numbers: Numbers = 'settings'): R {
  const place = placeInForce() ?? userPlace();
  const args = numbers === 'values' ? (withFewLiterals(name, given) as unknown as A) : given;
  const flat = flatten(args);
  if (flat.leaves.some((leaf) => typeof leaf === 'function')) return at(place, () => scope(() => f(...args)));
  const isArray = (leaf: unknown): leaf is Value =>
    leaf instanceof Value && !(leaf instanceof LiteralValue && !(leaf instanceof NumberOperand));
  const arrays = flat.leaves.filter(isArray);
  for (const array of arrays) array.ensureAlive();
  const leaves = arrays.map(leafOf);
  const leafKey = (leaf: unknown): string =>
    isArray(leaf)
      ? typeKey(knownAvalOf(leaf)) + (leaf instanceof DonatedArray ? '!' : '')
      : leaf instanceof LiteralValue
        ? `literal ${String(leaf.literal)} ${typeKey(leaf.aval as KnownAval)}`
        : `${typeof leaf} ${Object.is(leaf, -0) ? '-0' : String(leaf)}`;
  const key = `call ${name} ${printStructure(flat.structure)} ${flat.leaves.map(leafKey).join(' ')}`;
  let compiled = cache.get(key);
  if (compiled === undefined) {
    let result: Structure | undefined;
    const program = unplaced(
      trace(
        name,
        (inputs) =>
          at(place, () => {
            let next = 0;
            const own = rebuild(
              flat.structure,
              flat.leaves.map((leaf) => (isArray(leaf) ? inputs[next++]! : leaf)),
            ) as unknown as A;
            const out = flatten(f(...own));
            result = out.structure;
            return out.leaves.map((leaf) => asValue(leaf, 'result'));
          }),
        arrays.map(knownAvalOf),
      ),
    );
    compiled = cache.set(key, entryOf(program, leaves, result));
  }
  const outputs = runCall({ executable: compiled.executable, leaves, captures: compiled.captured.arrays, weak: compiled.weak, place });
  return rebuild(compiled.result!, outputs) as R;
}

/** A number that is an operand of the compiled call, not a constant in it. */
class NumberOperand extends LiteralValue {}

/** Numbers stay constants until this op saw too many different ones. */
function withFewLiterals(name: string, args: readonly unknown[]): readonly unknown[] {
  const text = args.map((arg) => (typeof arg === 'number' ? String(arg) : '')).join(' ');
  if (text.trim() === '' || !args.some((arg) => arg instanceof Value)) return args;
  const types = args.map((arg) => (arg instanceof Value ? typeKey(knownAvalOf(arg)) : typeof arg)).join(' ');
  if (fewLiterals(`${name} ${types}`, text)) return args;
  return args.map((arg) =>
    typeof arg === 'number' ? new NumberOperand(arg, { shape: [], dtype: Number.isInteger(arg) ? 'int32' : 'float32', weak: true }) : arg,
  );
}

export const baseInterpreter: Interpreter = {
  apply: (op, operands, parameters, place) => apply(op as Entry, operands as readonly Value[], parameters, place),
  scalar: literalValue,
  constant: (contents, aval) => new DeviceArray(device(), device().put(contents, aval, placeInForce() ?? userPlace())),
  run: (program, operands, place) => run(program, operands as readonly Value[], place),
  composed,
};
setBaseInterpreter(baseInterpreter);
