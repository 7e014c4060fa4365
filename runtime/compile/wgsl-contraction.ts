/**
 * Matrix products as WGSL, with what follows them in the same kernel.
 *
 * On software Vulkan every invocation holds a tile of up to 8 × 8 results in registers and reads vectors, without shared
 * memory: barriers cost more there than reading again (FACTS: 4.7 against 0.2 GFLOP/s). On GPUs workgroups share tiles of
 * 64 × 64. Either factor may be transposed: what lies side by side decides which way vectors run.
 * Depends on: core, ops, affine, code, quotients, wgsl-bordered, wgsl-epilogue, wgsl-language, wgsl-shared, wgsl, kernel.
 */
import { intDiv, intMod } from '../ops/arithmetic.ts';
import type { Scalar } from '../ops/scalar.ts';
import { affineOf, type Bounds } from './affine.ts';
import { makeCode, type Writer } from './code.ts';
import type { Contraction, Factor, Kernel } from './kernel.ts';
import { basesLines, boundsOf, gridOf, groupSizeFor, slotAvals, type WgslOptions, type WgslText } from './wgsl.ts';
import { withoutDivision } from './quotients.ts';
import { borderedLines, isBordered } from './wgsl-bordered.ts';
import { finishText, lettersOf, textAt } from './wgsl-epilogue.ts';
import { boundSlabs, loaded, wgslLanguage, type Slabs } from './wgsl-language.ts';
import { writeShared } from './wgsl-shared.ts';

/** How a factor's elements are read. */
type Reading = 'along depth' | 'along free' | 'one by one';

interface Tile {
  readonly rows: number;
  readonly columns: number;
  /** Steps of the contracted dimension per turn: each is written out, and what is written costs compiling. */
  readonly depth: 1 | 2 | 4;
  readonly left: Reading;
  readonly right: Reading;
  /** Results are computed in vectors of four. */
  readonly fours: boolean;
  /** Memory is read and written in vectors too: where elements are read one by one, each would cost a whole vector. */
  readonly packed: boolean;
}

const contractionOf = (kernel: Kernel): Contraction => {
  if (kernel.form.kind !== 'contraction') throw new Error('internal: runtime/compile: not a contraction');
  return kernel.form.contraction;
};

export function writeContraction(kernel: Kernel, options: WgslOptions): WgslText {
  const contraction = contractionOf(kernel);
  const quick = quickened(kernel, contraction);
  if (options.adapter === 'gpu' && contraction.rows >= 32 && contraction.columns >= 32) return writeShared(kernel, quick, options);
  return writeTiles(kernel, quick, tileFor(kernel, contraction, options), options);
}

function quickened(kernel: Kernel, contraction: Contraction): Contraction {
  const bounds = boundsOf(kernel);
  bounds.counters.set(contraction.k, contraction.depth);
  const quick = withoutDivision(bounds);
  const factor = ({ mixed, border, ...rest }: Factor): Factor => ({
    ...rest,
    start: quick(rest.start),
    free: quick(rest.free),
    depth: quick(rest.depth),
    ...(mixed ? { mixed: quick(mixed) } : {}),
    ...(border ? { border: { ...border, inside: quick(border.inside) } } : {}),
  });
  return { ...contraction, left: factor(contraction.left), right: factor(contraction.right) };
}

function tileFor(kernel: Kernel, { rows, columns, depth, left, right }: Contraction, { aligned }: WgslOptions): Tile {
  const fours = aligned && columns % 4 === 0 && slotAvals(kernel).every(({ dtype }) => dtype === 'float32');
  const bounds = boundsOf(kernel);
  const even = (scalar: Scalar): boolean => {
    const { constant, terms } = affineOf(scalar, bounds);
    return constant % 4 === 0 && terms.every(({ factor }) => factor % 4 === 0);
  };
  const reading = (factor: Factor, extent: number, single: boolean): Reading => {
    const { start, free, depth: along } = factor;
    if (!fours || isBordered(factor) || !even(start)) return 'one by one';
    if (!single && depth % 4 === 0 && inRunsOfFour(along, bounds) && even(free)) return 'along depth';
    if (extent % 4 === 0 && inRunsOfFour(free, bounds) && even(along)) return 'along free';
    return 'one by one';
  };
  const tall = rows >= 8 ? 8 : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
  const most = fours ? (columns % 8 === 0 ? 8 : 4) : leastWaste(columns);
  // Enough invocations for all lanes of all cores before larger tiles pay.
  const invocations = (tileRows: number, tileColumns: number): number =>
    Math.ceil(rows / tileRows) * Math.ceil(columns / tileColumns) * kernel.extents[0]!;
  let [tileRows, tileColumns] = [tall, most];
  while (tileRows > 1 && invocations(tileRows, tileColumns) < 32) tileRows /= 2;
  if (tileColumns === 8 && invocations(tileRows, tileColumns) < 32) tileColumns = 4;
  // A bordered element costs a sum, a comparison and a selection: written out once for each of several depths they take long to compile.
  const bordered = isBordered(left) || isBordered(right);
  const readings = [reading(left, rows, bordered), reading(right, columns, bordered)] as const;
  return {
    rows: tileRows,
    columns: tileColumns,
    depth: bordered ? 1 : readings.includes('along depth') ? 4 : depth % 2 === 0 ? 2 : 1,
    left: readings[0],
    right: readings[1],
    fours,
    packed: fours && !readings.includes('one by one'),
  };
}

/** Columns of a tile, eight at most, so that few lie beyond the result. */
function leastWaste(columns: number): number {
  const widths = [8, 7, 6, 5, 4].filter((width) => width <= columns);
  const waste = (width: number): number => Math.ceil(columns / width) * width - columns;
  return widths.reduce((best, width) => (waste(width) < waste(best) ? width : best), widths[0] ?? Math.max(1, columns));
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

function writeTiles(kernel: Kernel, contraction: Contraction, tile: Tile, options: WgslOptions): WgslText {
  const { batch, rows, columns, depth, left, right } = contraction;
  const avals = slotAvals(kernel);
  const slabs = boundSlabs(avals, options.slabs, tile.packed);
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
  const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
  const start = code.value(factor.start);
  const four = (at: string): string => loaded(factor.operand, `((${at}) >> 2u)`, 'float32', true, slabs);
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
      const inside = [...depthLines, ...range(extent).map((i) => `let ${name}${i} = ${four(`${name}at${i} + ${along}`)};`)];
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
      const inside = steps.flatMap((kk) => groups.map((g) => `let ${name}${kk}_${g} = ${four(`${name}at${g} + ${depthText(kk)}`)};`));
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
    const element = (i: number, kk: number): string => `${name}${kk}_${i}`;
    const quad = (q: number, kk: number): string =>
      `vec4f(${range(4)
        .map((j) => element(4 * q + j, kk))
        .join(', ')})`;
    if (isBordered(factor)) {
      const frees = range(extent).map((i) => `${name}at${i}`);
      const depths = steps.map((kk) => (kk === 0 ? 'k' : `(k + ${kk})`));
      const { before, inside } = borderedLines(factor, name, { axis: free.axis, frees, k, depths }, slabs, code);
      return { before: [...frees.map((one, i) => `let ${one} = ${clamped(i, 1)};`), ...before], inside, element, quad };
    }
    const before = range(extent).map((i) => `let ${name}at${i} = ${start} + ${freeText(clamped(i, 1))};`);
    const inside = steps.flatMap((kk) => {
      const along = depthText(kk);
      return range(extent).map(
        (i) => `let ${name}${kk}_${i} = ${loaded(factor.operand, `(${name}at${i} + ${along})`, 'float32', false, slabs)};`,
      );
    });
    return { before, inside: [...depthLines, ...inside], element, quad };
  }
}
