/**
 * A kernel as JavaScript: nested loops over typed arrays, every value rounded to its dtype.
 *
 * Functions come from the same entries as the shader text. The text is a function of the host functions it calls, which
 * returns the kernel: (arrays, bases) => void, one array and one base in elements per slot. `interpret` does the same
 * without making functions from text. Depends on: core, ops, code, evaluate, factor, kernel.
 */
import type { DType } from '../core/dtype.ts';
import { coordinate, type Scalar, type ScalarFunction } from '../ops/scalar.ts';
import { makeCode, type Language } from './code.ts';
import { evaluate, halfToNumber, numberToHalf, rounded } from './evaluate.ts';
import { placeOf } from './factor.ts';
import type { Factor, Kernel } from './kernel.ts';
import { mapScalar } from './scalar-walk.ts';
import { linear } from '../ops/arithmetic.ts';

export type HostArray = Float32Array | Int32Array | Uint32Array | Uint16Array;
export type HostKernel = (arrays: readonly HostArray[], bases: readonly number[]) => void;

export interface HostText {
  readonly text: string;
  readonly functions: readonly ((...operands: number[]) => number)[];
}

export function jsText(kernel: Kernel): HostText {
  const functions: ((...operands: number[]) => number)[] = [];
  const numbers = new Map<ScalarFunction, number>();
  const numberOf = (fn: ScalarFunction): number => {
    const known = numbers.get(fn);
    if (known !== undefined) return known;
    numbers.set(fn, functions.length);
    functions.push(fn.host);
    return functions.length - 1;
  };
  const language = hostLanguage(numberOf);
  const body = bodyOf(kernel, language);
  const slots = [...kernel.operands, ...kernel.results];
  const text = [
    "'use strict';",
    ...functions.map((_, i) => `const h${i} = functions[${i}];`),
    'const fround = Math.fround;',
    'return (arrays, bases) => {',
    ...slots.map((_, i) => `const a${i} = arrays[${i}], b${i} = bases[${i}];`),
    ...body,
    '};',
  ].join('\n');
  return { text, functions };
}

const hostRounding: Readonly<Record<DType, (text: string) => string>> = {
  float32: (text) => `fround(${text})`,
  float16: (text) => `toNumber(toHalf(${text}))`,
  int32: (text) => `(${text}) | 0`,
  uint32: (text) => `(${text}) >>> 0`,
  bool: (text) => `(${text}) ? 1 : 0`,
};

function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : Number.isNaN(value) ? 'NaN' : String(value);
}

const hostLanguage = (numberOf: (fn: ScalarFunction) => number): Language => ({
  constant: (value, dtype) => `(${numberText(rounded(value, dtype))})`,
  coordinate: (axis) => `c${axis}`,
  load: (slot, position, dtype) =>
    dtype === 'float16' ? `toNumber(a${slot}[b${slot} + ${position}])` : `a${slot}[b${slot} + ${position}]`,
  apply: (fn, operands, dtype) => hostRounding[dtype](`h${numberOf(fn)}(${operands.join(', ')})`),
  choose: (condition, then, otherwise) => `${condition} ? ${then} : ${otherwise}`,
  define: (name, _dtype, text) => `const ${name} = ${text};`,
  variable: (name, _dtype, text) => `let ${name} = ${text};`,
  assign: (name, text) => `${name} = ${text};`,
  loop: (counter, extent) => `for (let ${counter} = 0; ${counter} < ${extent}; ${counter}++) {`,
  end: '}',
});

function bodyOf(kernel: Kernel, language: Language): readonly string[] {
  return kernel.form.kind === 'contraction' ? contractionBody(kernel, language) : elementBody(kernel, language);
}

function elementBody(kernel: Kernel, language: Language): readonly string[] {
  const code = makeCode(language);
  const { extents, operands } = kernel;
  const heads = extents.map((extent, axis) => {
    code.open([axis]);
    return `for (let c${axis} = 0; c${axis} < ${extent}; c${axis}++) {`;
  });
  storeAll(kernel, code, operands.length);
  return nested(heads, code);
}

/** Closes the scopes that were opened for `heads`, innermost first. */
function nested(heads: readonly string[], code: ReturnType<typeof makeCode>): readonly string[] {
  let lines: readonly string[] = [];
  for (const head of heads.toReversed()) lines = [head, ...code.close(), ...lines, '}'];
  return [...code.scopes[0]!.lines, ...lines];
}

const ownPosition = (extents: readonly number[]): Scalar =>
  linear(
    extents.map((_, axis) => coordinate(axis)),
    extents,
  );

function storeAll({ extents, results }: Kernel, code: ReturnType<typeof makeCode>, first: number): void {
  const values = results.map(({ value, index, inside }) => ({
    value: code.value(value),
    at: code.value(index?.[0] ?? ownPosition(extents)),
    when: inside === undefined ? undefined : code.value(inside),
  }));
  values.forEach(({ value, at, when }, i) => {
    const slot = first + i;
    const stored = results[i]!.aval.dtype === 'float16' ? `toHalf(${value})` : value;
    code.line(`${when === undefined ? '' : `if (${when}) `}a${slot}[b${slot} + ${at}] = ${stored};`);
  });
}

/** A row at a time when columns lie side by side, element by element otherwise. */
function contractionBody(kernel: Kernel, language: Language): readonly string[] {
  if (kernel.form.kind !== 'contraction') throw new Error('internal: runtime/compile: not a contraction');
  const { batch, rows, columns, depth, left, right, sum, k } = kernel.form.contraction;
  const code = makeCode(language);
  code.bind(k, 'k');
  code.open([0]);
  code.open([1]);
  const load = (factor: Factor, place: string): string => {
    const element = `a${factor.operand}[b${factor.operand} + ${place}]`;
    return factor.border === undefined
      ? element
      : `(${code.value(factor.border.inside)} ? ${element} : ${numberText(factor.border.value)})`;
  };
  const sideBySide = right.freeStride === 1 && right.border === undefined;
  if (sideBySide) {
    code.line('row.fill(0);');
    const columnStart = code.value(right.start);
    code.open([k]);
    const x = load(left, code.value(placeOf(left)));
    code.line(`const x = ${x}, from = b${right.operand} + ${columnStart} + ${code.value(right.depth)};`);
    code.line(`for (let c2 = 0; c2 < ${columns}; c2++) row[c2] += fround(x * a${right.operand}[from + c2]);`);
    const lines = code.close();
    for (const line of [`for (let k = 0; k < ${depth}; k++) {`, ...lines, '}']) code.line(line);
  }
  const before = code.scopes.at(-1)!.lines.splice(0);
  code.open([2, sum]);
  if (!sideBySide) {
    code.open([k]);
    const [x, y] = [load(left, code.value(placeOf(left))), load(right, code.value(placeOf(right)))];
    code.line(`total = fround(total + fround(${x} * ${y}));`);
    const lines = code.close();
    for (const line of ['let total = 0;', `for (let k = 0; k < ${depth}; k++) {`, ...lines, '}']) code.line(line);
  }
  code.bind(sum, sideBySide ? 'row[c2]' : 'total');
  storeAll(kernel, code, kernel.operands.length);
  const inner = code.close();
  const rowLines = code.close();
  const batchLines = code.close();
  return [
    `const row = new Float32Array(${sideBySide ? columns : 0});`,
    ...code.scopes[0]!.lines,
    `for (let c0 = 0; c0 < ${batch}; c0++) {`,
    ...batchLines,
    `for (let c1 = 0; c1 < ${rows}; c1++) {`,
    ...before,
    ...rowLines,
    `for (let c2 = 0; c2 < ${columns}; c2++) {`,
    ...inner,
    '}',
    '}',
    '}',
  ];
}

/** Makes the function; throws where functions from text are forbidden. */
export function hostKernel(kernel: Kernel): HostKernel {
  const { text, functions } = jsText(kernel);
  const make = new Function('functions', 'toHalf', 'toNumber', text) as (
    functions: HostText['functions'],
    toHalf: (value: number) => number,
    toNumber: (half: number) => number,
  ) => HostKernel;
  return make(functions, numberToHalf, halfToNumber);
}

/** The same by walking the expressions: slow, and possible everywhere. */
export function interpret(kernel: Kernel): HostKernel {
  const slots = [...kernel.operands, ...kernel.results.map(({ aval }) => aval)];
  return (arrays, bases) => {
    const load = (slot: number, position: number): number => {
      const value = arrays[slot]![bases[slot]! + position] ?? 0;
      return slots[slot]!.dtype === 'float16' ? halfToNumber(value) : value;
    };
    for (const coordinates of pointsOf(kernel.extents)) {
      const around = { coordinates, load: (operand: number, index: readonly number[]): number => load(operand, index[0]!) };
      const sum = kernel.form.kind === 'contraction' ? sumAt(kernel, coordinates, load) : 0;
      const stored = kernel.results.map(({ value, index, inside }) => ({
        value: evaluate(withSum(kernel, value, sum), around),
        at: evaluate(index?.[0] ?? ownPosition(kernel.extents), around),
        when: inside === undefined || evaluate(inside, around) !== 0,
      }));
      stored.forEach(({ value, at, when }, i) => {
        const slot = kernel.operands.length + i;
        if (when) arrays[slot]![bases[slot]! + at] = slots[slot]!.dtype === 'float16' ? numberToHalf(value) : value;
      });
    }
  };
}

const withSum = ({ form }: Kernel, value: Scalar, sum: number): Scalar =>
  form.kind !== 'contraction'
    ? value
    : mapScalar(value, (one) =>
        one.kind === 'variable' && one.variable === form.contraction.sum ? { kind: 'constant', value: sum, dtype: one.dtype } : one,
      );

function sumAt({ form }: Kernel, coordinates: readonly number[], load: (slot: number, position: number) => number): number {
  if (form.kind !== 'contraction') return 0;
  const { left, right, depth, k } = form.contraction;
  let sum = 0;
  for (let at = 0; at < depth; at++) {
    const element = (factor: Factor): number => {
      const valueOf = (scalar: Scalar): number =>
        evaluate(
          mapScalar(scalar, (one) =>
            one.kind === 'variable' && one.variable === k ? { kind: 'constant', value: at, dtype: 'int32' } : one,
          ),
          { coordinates, load: () => 0 },
        );
      if (factor.border !== undefined && valueOf(factor.border.inside) === 0) return factor.border.value;
      return load(factor.operand, valueOf(placeOf(factor)));
    };
    sum = Math.fround(sum + Math.fround(element(left) * element(right)));
  }
  return sum;
}

function* pointsOf(extents: readonly number[]): Iterable<readonly number[]> {
  const total = extents.reduce((product, extent) => product * extent, 1);
  for (let position = 0; position < total; position++) {
    let left = position;
    const point = new Array<number>(extents.length);
    for (let axis = extents.length - 1; axis >= 0; axis--) {
      point[axis] = left % extents[axis]!;
      left = Math.floor(left / extents[axis]!);
    }
    yield point;
  }
}
