/**
 * Matrix products as WGSL, with what follows them in the same kernel.
 *
 * On software Vulkan every invocation holds a tile of up to 8 × 8 results in registers and reads vectors, without shared
 * memory: barriers cost more there than reading again (FACTS: 4.7 against 0.2 GFLOP/s). On GPUs workgroups share tiles of
 * 64 × 64. Either factor may be transposed: what lies side by side decides which way vectors run.
 * Depends on: core, code, lanes, wgsl-language, wgsl, kernel.
 */
import { intDiv, intMod, linear } from '../ops/arithmetic.ts';
import { coordinate, type Scalar } from '../ops/scalar.ts';
import { affineOf, type Bounds } from './affine.ts';
import { makeCode, type Writer } from './code.ts';
import type { Contraction, Factor, Kernel } from './kernel.ts';
import { fourLanes, makeVectors } from './lanes.ts';
import { mapScalar } from './scalar-walk.ts';
import { basesLines, boundsOf, gridOf, groupSizeFor, slotAvals, type WgslOptions, type WgslText } from './wgsl.ts';
import { boundSlabs, loaded, stored, wgslLanguage, type Slabs } from './wgsl-language.ts';

/** How a factor's elements are read. */
type Reading = 'along depth' | 'along free' | 'one by one';

interface Tile {
  readonly rows: number;
  readonly columns: number;
  /** Steps of the contracted dimension per turn: each is written out, and what is written costs compiling. */
  readonly depth: 1 | 2 | 4;
  readonly left: Reading;
  readonly right: Reading;
  /** Results are stored in vectors of four. */
  readonly fours: boolean;
}

export const contractionOf = (kernel: Kernel): Contraction => {
  if (kernel.form.kind !== 'contraction') throw new Error('internal: runtime/compile: not a contraction');
  return kernel.form.contraction;
};

export function writeContraction(kernel: Kernel, options: WgslOptions): WgslText {
  const contraction = contractionOf(kernel);
  if (options.adapter === 'gpu' && contraction.rows >= 32 && contraction.columns >= 32) return writeShared(kernel, contraction, options);
  return writeTiles(kernel, contraction, tileFor(kernel, contraction, options), options);
}

function tileFor(kernel: Kernel, { rows, columns, depth, left, right }: Contraction, { aligned }: WgslOptions): Tile {
  const fours = aligned && columns % 4 === 0 && slotAvals(kernel).every(({ dtype }) => dtype === 'float32');
  const bounds = boundsOf(kernel);
  const even = (scalar: Scalar): boolean => {
    const { constant, terms } = affineOf(scalar, bounds);
    return constant % 4 === 0 && terms.every(({ factor }) => factor % 4 === 0);
  };
  const reading = ({ start, free, depth: along }: Factor, extent: number): Reading => {
    if (!fours || !even(start)) return 'one by one';
    if (depth % 4 === 0 && inRunsOfFour(along, bounds) && even(free)) return 'along depth';
    if (extent % 4 === 0 && inRunsOfFour(free, bounds) && even(along)) return 'along free';
    return 'one by one';
  };
  const tall = rows >= 8 ? 8 : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
  const most = fours ? (columns % 8 === 0 ? 8 : 4) : columns >= 4 ? 4 : columns >= 2 ? 2 : 1;
  // Enough invocations for all lanes of all cores before larger tiles pay.
  const invocations = (tileRows: number, tileColumns: number): number =>
    Math.ceil(rows / tileRows) * Math.ceil(columns / tileColumns) * kernel.extents[0]!;
  let [tileRows, tileColumns] = [fours ? tall : Math.min(4, tall), most];
  while (tileRows > 1 && invocations(tileRows, tileColumns) < 32) tileRows /= 2;
  if (fours && tileColumns === 8 && invocations(tileRows, tileColumns) < 32) tileColumns = 4;
  const readings = [reading(left, rows), reading(right, columns)] as const;
  return {
    rows: tileRows,
    columns: tileColumns,
    depth: readings.includes('along depth') ? 4 : depth % 2 === 0 ? 2 : 1,
    left: readings[0],
    right: readings[1],
    fours,
  };
}

/** From a multiple of four on, four values of its variable are four neighbours: x, or 1000 · (x / 64) + x % 64. */
function inRunsOfFour(scalar: Scalar, bounds: Bounds): boolean {
  const isLeaf = ({ kind }: Scalar): boolean => kind === 'coordinate' || kind === 'variable';
  const byFours = (one: Scalar): one is Extract<Scalar, { kind: 'apply' }> => {
    if (one.kind !== 'apply' || (one.apply !== intDiv && one.apply !== intMod)) return false;
    const [of, by] = one.operands;
    return isLeaf(of!) && by!.kind === 'constant' && by!.value % 4 === 0;
  };
  const { constant, terms } = affineOf(scalar, bounds);
  const running = terms.filter(({ atom }) => isLeaf(atom) || (byFours(atom) && atom.apply === intMod));
  return (
    constant % 4 === 0 &&
    running.length === 1 &&
    running[0]!.factor === 1 &&
    terms.every((term) => term === running[0] || (byFours(term.atom) && term.factor % 4 === 0))
  );
}

const lettersOf = 'xyzw';

function writeTiles(kernel: Kernel, contraction: Contraction, tile: Tile, options: WgslOptions): WgslText {
  const { batch, rows, columns, depth, left, right } = contraction;
  const avals = slotAvals(kernel);
  const slabs = boundSlabs(avals, options.slabs, tile.fours);
  const needs = new Map<string, string>();
  const finish = finishText(kernel, contraction, slabs, needs, tile.fours);
  const across = Math.ceil(columns / tile.columns);
  const down = Math.ceil(rows / tile.rows);
  const invocations = batch * across * down;
  const size = groupSizeFor(invocations, options.adapter);
  const grid = gridOf(Math.ceil(invocations / size));
  const quads = tile.columns / 4;
  const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
  const accumulators = tile.fours
    ? range(tile.rows).flatMap((i) => range(quads).map((q) => `var acc${i}_${q} = vec4f();`))
    : range(tile.rows).flatMap((i) => range(tile.columns).map((j) => `var acc${i}_${j} = 0.0f;`));
  const code = makeCode(wgslLanguage(slabs, needs));
  const leftReads = readLines(left, 'a', tile.rows, tile.left, tile, { first: 'row0', last: rows, axis: 1 }, contraction, slabs, code);
  const rightReads = readLines(
    right,
    'b',
    tile.columns,
    tile.right,
    tile,
    { first: 'column0', last: columns, axis: 2 },
    contraction,
    slabs,
    code,
  );
  const products = range(tile.depth).flatMap((kk) =>
    range(tile.rows).flatMap((i) =>
      tile.fours
        ? range(quads).map((q) => `acc${i}_${q} += ${leftReads.element(i, kk)} * ${rightReads.quad(q, kk)};`)
        : range(tile.columns).map((j) => `acc${i}_${j} += ${leftReads.element(i, kk)} * ${rightReads.element(j, kk)};`),
    ),
  );
  return {
    grid,
    text: [
      ...basesLines(options.bases, avals.length),
      ...slabs.declarations,
      ...needs.values(),
      ...finish,
      `@compute @workgroup_size(${size})`,
      'fn main(@builtin(global_invocation_id) id: vec3u) {',
      `let index = i32(id.x + id.y * ${grid[0] * size}u);`,
      `if (index >= ${invocations}) { return; }`,
      `let c0 = index / ${across * down};`,
      `let row0 = ((index / ${across}) % ${down}) * ${tile.rows};`,
      `let column0 = (index % ${across}) * ${tile.columns};`,
      ...accumulators,
      ...code.scopes[0]!.lines,
      ...leftReads.before,
      ...rightReads.before,
      `for (var k = 0; k < ${depth}; k += ${tile.depth}) {`,
      ...leftReads.inside,
      ...rightReads.inside,
      ...products,
      '}',
      ...finishLines(contraction, tile),
      '}',
    ].join('\n'),
  };
}

/**
 * Calls `finish` for each sum of the tile. The call stands once, in a loop through which the sums move up: written out it
 * would be compiled once for each, which takes the driver longer than the rest of the kernel, and an array of them would
 * be read slowly.
 */
function finishLines({ rows, columns }: Contraction, tile: Tile): string[] {
  const width = tile.fours ? 4 : 1;
  const across = tile.columns / width;
  const sums = Array.from({ length: tile.rows * across }, (_, i) => `acc${Math.floor(i / across)}_${i % across}`);
  const row = tile.rows === 1 ? 'row0' : `row0 + i / ${across}`;
  const first = tile.fours ? '(column0 >> 2u)' : 'column0';
  const column = across === 1 ? first : `${first} + i % ${across}`;
  // Conditions only where a tile may reach beyond the result.
  const inside = [
    ...(rows % tile.rows === 0 ? [] : [`${row} < ${rows}`]),
    ...(columns % tile.columns === 0 ? [] : [`${column} < ${columns / width}`]),
  ];
  const call = `finish(c0, ${row}, ${column}, ${sums[0]!});`;
  const guarded = inside.length === 0 ? call : `if (${inside.join(' && ')}) { ${call} }`;
  if (sums.length === 1) return [guarded];
  return [`for (var i = 0; i < ${sums.length}; i++) {`, guarded, ...sums.slice(1).map((sum, i) => `${sums[i]!} = ${sum};`), '}'];
}

interface Reads {
  readonly before: readonly string[];
  readonly inside: readonly string[];
  readonly element: (i: number, kk: number) => string;
  readonly quad: (q: number, kk: number) => string;
}

/** Lines that read what one turn needs of a factor, and the names under which it is found. */
function readLines(
  factor: Factor,
  name: string,
  extent: number,
  reading: Reading,
  tile: Tile,
  free: { readonly first: string; readonly last: number; readonly axis: 1 | 2 },
  { k }: Contraction,
  slabs: Slabs,
  code: Writer,
): Reads {
  const slab = `slab${slabs.slabOf(factor.operand)}`;
  const base = `bases.b${factor.operand}`;
  const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
  const start = `${base} + ${code.value(factor.start)}`;
  const steps = range(tile.depth);
  const freeText = (at: string): string => textAt(factor.free, (one) => one.kind === 'coordinate' && one.axis === free.axis, at, code);
  const depthLines: string[] = [];
  const depthText = (kk: number): string => {
    code.open([k]);
    const text = textAt(factor.depth, (one) => one.kind === 'variable' && one.variable === k, kk === 0 ? 'k' : `(k + ${kk})`, code);
    depthLines.push(...code.close());
    return text;
  };
  const whole = free.last % extent === 0;
  const clamped = (i: number, width: number): string =>
    whole ? `(${free.first} + ${i})` : `min(${free.first} + ${i}, ${free.last - width})`;
  switch (reading) {
    case 'along depth': {
      const before = range(extent).map((i) => `let ${name}at${i} = ${start} + ${freeText(clamped(i, 1))};`);
      const along = depthText(0);
      const inside = [...depthLines, ...range(extent).map((i) => `let ${name}${i} = ${slab}[(${name}at${i} + ${along}) >> 2u];`)];
      const element = (i: number, kk: number): string => `${name}${i}.${lettersOf[kk]!}`;
      return {
        before,
        inside,
        element,
        quad: (q, kk) =>
          `vec4f(${range(4)
            .map((j) => element(4 * q + j, kk))
            .join(', ')})`,
      };
    }
    case 'along free': {
      const groups = range(Math.max(1, extent / 4));
      // A tile of fewer than four rows: the first of them may not be a multiple of four, so elements are read singly.
      if (extent < 4) return oneByOne();
      const before = groups.map((g) => `let ${name}at${g} = ${start} + ${freeText(clamped(4 * g, 4))};`);
      const inside = steps.flatMap((kk) => groups.map((g) => `let ${name}${kk}_${g} = ${slab}[(${name}at${g} + ${depthText(kk)}) >> 2u];`));
      return {
        before,
        inside: [...depthLines, ...inside],
        element: (i, kk) => `${name}${kk}_${i >> 2}.${lettersOf[i & 3]!}`,
        quad: (q, kk) => `${name}${kk}_${q}`,
      };
    }
    case 'one by one':
      return oneByOne();
  }
  function oneByOne(): Reads {
    const before = range(extent).map((i) => `let ${name}at${i} = ${code.value(factor.start)} + ${freeText(clamped(i, 1))};`);
    const inside = steps.flatMap((kk) => {
      const along = depthText(kk);
      return range(extent).map(
        (i) => `let ${name}${kk}_${i} = ${loaded(factor.operand, `(${name}at${i} + ${along})`, 'float32', false, slabs)};`,
      );
    });
    const element = (i: number, kk: number): string => `${name}${kk}_${i}`;
    return {
      before,
      inside: [...depthLines, ...inside],
      element,
      quad: (q, kk) =>
        `vec4f(${range(4)
          .map((j) => element(4 * q + j, kk))
          .join(', ')})`,
    };
  }
}

/** An index with one leaf replaced by text. */
function textAt(scalar: Scalar, isLeaf: (one: Scalar) => boolean, text: string, code: Writer): string {
  const symbol = Symbol('leaf');
  code.bind(symbol, text);
  const replaced = mapScalar(scalar, (one) => (isLeaf(one) ? { kind: 'variable', variable: symbol, dtype: 'int32' } : one));
  return plainText(replaced, (symbol_) => (symbol_ === symbol ? text : undefined)) ?? code.value(replaced);
}

/** Sums and products as one expression: nothing is defined for it, so it can stand anywhere. */
function plainText(scalar: Scalar, nameOf: (symbol: symbol) => string | undefined): string | undefined {
  switch (scalar.kind) {
    case 'constant':
      return `${scalar.value}`;
    case 'variable':
      return nameOf(scalar.variable);
    case 'apply': {
      const operands = scalar.operands.map((one) => plainText(one, nameOf));
      return operands.some((one) => one === undefined)
        ? undefined
        : scalar.apply.wgsl(operands as string[], scalar.dtype, ['int32', 'int32']);
    }
    case 'coordinate':
      return `c${scalar.axis}`;
    case 'load':
    case 'choose':
    case 'loop':
      return undefined;
  }
}

/** `finish(c0, c1, c2, sum)`: what follows the product, and the stores; c2 counts fours when results are vectors. */
function finishText(kernel: Kernel, { sum }: Contraction, slabs: Slabs, needs: Map<string, string>, fours: boolean): string[] {
  const { extents, results, operands } = kernel;
  const code = makeCode(wgslLanguage(slabs, needs));
  code.open([0, 1, 2, sum]);
  code.bind(sum, 'sum');
  const vectors = makeVectors(boundsOf(kernel));
  const positionIn = fours ? [extents[0]!, extents[1]!, extents[2]! / 4] : extents;
  const at = code.value(linear([coordinate(0), coordinate(1), coordinate(2)], positionIn));
  const values = results.map(({ value }) => {
    if (!fours) return code.value(value);
    const lanes = fourLanes(value, 2, vectors, sum);
    if (lanes === undefined) throw new Error('internal: runtime/compile: an epilogue with loops of different lengths');
    return lanes.map((lane) => code.value(lane));
  });
  results.forEach(({ aval }, i) => code.line(stored(operands.length + i, at, values[i]!, aval.dtype, slabs)));
  const lines = code.close();
  return [`fn finish(c0: i32, c1: i32, c2: i32, sum: ${fours ? 'vec4f' : 'f32'}) {`, ...code.scopes[0]!.lines, ...lines, '}'];
}

const sharedTile = 64;
const sharedDepth = 16;

/** Workgroups of 16 × 16 invocations share tiles of 64 × 16 of both factors; each invocation has 4 × 4 results. */
function writeShared(kernel: Kernel, contraction: Contraction, options: WgslOptions): WgslText {
  const { batch, rows, columns, depth, left, right } = contraction;
  const avals = slotAvals(kernel);
  const slabs = boundSlabs(avals, options.slabs, false);
  const needs = new Map<string, string>();
  const finish = finishText(kernel, contraction, slabs, needs, false);
  const across = Math.ceil(columns / sharedTile);
  const down = Math.ceil(rows / sharedTile);
  const grid = gridOf(batch * across * down);
  const code = makeCode(wgslLanguage(slabs, needs));
  const range = [0, 1, 2, 3];
  const starts = [left, right].map(({ start }) => code.value(start));
  const fill = (factor: Factor, side: 0 | 1): string[] => {
    const name = side === 0 ? 'tileA' : 'tileB';
    const first = side === 0 ? 'row0' : 'column0';
    const limit = side === 0 ? rows : columns;
    // Neighbouring invocations read neighbouring elements.
    const alongDepth = factor.depthStride === 1;
    const split = alongDepth
      ? [`let kk = at % ${sharedDepth};`, `let f = at / ${sharedDepth};`]
      : [`let f = at % ${sharedTile};`, `let kk = at / ${sharedTile};`];
    const free = textAt(factor.free, (one) => one.kind === 'coordinate' && one.axis === side + 1, `(${first} + f)`, code);
    const along = textAt(factor.depth, (one) => one.kind === 'variable' && one.variable === contraction.k, '(k + kk)', code);
    return [
      `for (var turn = 0; turn < 4; turn++) {`,
      `let at = local + turn * 256;`,
      ...split,
      `var x = 0.0f;`,
      `if (${first} + f < ${limit} && k + kk < ${depth}) { x = ${loaded(factor.operand, `(${starts[side]!} + ${free} + ${along})`, 'float32', false, slabs)}; }`,
      `${name}[kk * ${sharedTile} + f] = x;`,
      '}',
    ];
  };
  const fills = [fill(left, 0), fill(right, 1)];
  return {
    grid,
    text: [
      ...basesLines(options.bases, avals.length),
      ...slabs.declarations,
      ...needs.values(),
      `var<workgroup> tileA: array<f32, ${sharedTile * sharedDepth}>;`,
      `var<workgroup> tileB: array<f32, ${sharedTile * sharedDepth}>;`,
      ...finish,
      '@compute @workgroup_size(16, 16)',
      'fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u, @builtin(local_invocation_index) place: u32) {',
      `let index = i32(group.x + group.y * ${grid[0]}u);`,
      // The whole workgroup goes: barriers stay uniform.
      `if (index >= ${batch * across * down}) { return; }`,
      'let local = i32(place);',
      `let c0 = index / ${across * down};`,
      `let row0 = ((index / ${across}) % ${down}) * ${sharedTile};`,
      `let column0 = (index % ${across}) * ${sharedTile};`,
      'let row = i32(id.y) * 4; let column = i32(id.x) * 4;',
      ...range.map((i) => `var acc${i} = vec4f();`),
      ...code.scopes[0]!.lines,
      `for (var k = 0; k < ${depth}; k += ${sharedDepth}) {`,
      ...fills.flat(),
      'workgroupBarrier();',
      `for (var kk = 0; kk < ${sharedDepth}; kk++) {`,
      `let b = vec4f(${range.map((j) => `tileB[kk * ${sharedTile} + column + ${j}]`).join(', ')});`,
      ...range.map((i) => `acc${i} += tileA[kk * ${sharedTile} + row + ${i}] * b;`),
      '}',
      'workgroupBarrier();',
      '}',
      ...range.flatMap((i) =>
        range.map(
          (j) =>
            `if (row0 + row + ${i} < ${rows} && column0 + column + ${j} < ${columns}) { finish(c0, row0 + row + ${i}, column0 + column + ${j}, acc${i}.${lettersOf[j]!}); }`,
        ),
      ),
      '}',
    ].join('\n'),
  };
}
