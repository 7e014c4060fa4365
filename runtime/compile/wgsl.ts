/**
 * A kernel as WGSL.
 *
 * Slabs are bound whole, each once, read_write; where an array begins comes at call time: a base per slot, in elements.
 * So the text depends on the kernel, on which slots share a slab, and on whether bases are multiples of four elements.
 * On software Vulkan workgroups have no barriers and invocations read vectors; on GPUs products use shared tiles.
 * Depends on: core, ops, code, lanes, wgsl-language, wgsl-contraction, kernel.
 */
import type { KnownAval } from '../core/aval.ts';
import { linear } from '../ops/arithmetic.ts';
import { coordinate, type Scalar } from '../ops/scalar.ts';
import type { Bounds } from './affine.ts';
import { makeCode, type Writer } from './code.ts';
import type { Kernel } from './kernel.ts';
import { makeKeys } from './keys.ts';
import { fourLanes, inFours, makeVectors, nodesIn } from './lanes.ts';
import { visit } from './scalar-walk.ts';
import { writeContraction } from './wgsl-contraction.ts';
import { boundSlabs, stored, wgslLanguage, type Slabs } from './wgsl-language.ts';

export interface WgslOptions {
  /** For each slot the number of the slab it lies in, counted from 0 as they are met. */
  readonly slabs: readonly number[];
  readonly aligned: boolean;
  readonly adapter: 'gpu' | 'software';
  /** `immediates`: bases are given with the dispatch; `table`: they stand in a uniform buffer. */
  readonly bases: 'immediates' | 'table';
}

export interface WgslText {
  readonly text: string;
  /** Workgroups along x and y. */
  readonly grid: readonly [number, number];
}

const mostNodesInFours = 400;
const mostGroups = 65535;

export function wgsl(kernel: Kernel, options: WgslOptions): WgslText {
  if (kernel.form.kind === 'contraction') return writeContraction(kernel, options);
  if (kernel.form.kind === 'update') return updateText(kernel, options);
  const fours = options.aligned ? elementInFours(kernel, options) : undefined;
  return fours ?? elementByElement(kernel, options);
}

export const slotAvals = (kernel: Kernel): readonly KnownAval[] => [...kernel.operands, ...kernel.results.map(({ aval }) => aval)];

export const boundsOf = ({ extents, results }: Kernel): Bounds => {
  const counters = new Map<symbol, number>();
  visit(
    results.map(({ value }) => value),
    (one) => {
      if (one.kind === 'loop' && one.extent.kind === 'constant') counters.set(one.counter, one.extent.value);
    },
  );
  return { extents, counters, keys: makeKeys() };
};

/** A grid of `groups` workgroups that has at most 65535 in each direction and few too many. */
export function gridOf(groups: number): readonly [number, number] {
  if (groups <= mostGroups) return [Math.max(1, groups), 1];
  const rows = Math.ceil(groups / mostGroups);
  return [Math.ceil(groups / rows), rows];
}

/** Few invocations are spread over more workgroups: on the processor those are what runs side by side. */
export const groupSizeFor = (invocations: number, adapter: WgslOptions['adapter']): number =>
  adapter === 'gpu' ? 64 : invocations >= 4096 ? 64 : invocations >= 256 ? 16 : 4;

const count = (extents: readonly number[]): number => extents.reduce((product, extent) => product * extent, 1);
const ownPosition = (extents: readonly number[]): Scalar =>
  linear(
    extents.map((_, axis) => coordinate(axis)),
    extents,
  );

/** Lines that find the coordinates of invocation `index`, the last axis first. */
export function coordinateLines(extents: readonly number[], index: string): string[] {
  const lines: string[] = [];
  let left = index;
  for (let axis = extents.length - 1; axis >= 0; axis--) {
    const last = extents.slice(0, axis).every((extent) => extent === 1);
    lines.push(`let c${axis} = ${last ? left : `${left} % ${extents[axis]!}`};`);
    if (!last) {
      lines.push(`let l${axis} = ${left} / ${extents[axis]!};`);
      left = `l${axis}`;
    } else left = '0';
  }
  return lines;
}

interface Body {
  readonly invocations: number;
  readonly lines: readonly string[];
  /** Each invocation does several, one after the other. */
  readonly times?: number;
}

export function moduleText(
  slabs: Slabs,
  needs: ReadonlyMap<string, string>,
  { bases, adapter }: WgslOptions,
  slotCount: number,
  { invocations, lines, times = 1 }: Body,
): WgslText {
  const each = Math.ceil(invocations / times);
  const size = groupSizeFor(each, adapter);
  const grid = gridOf(Math.ceil(each / size));
  const width = grid[0] * size;
  const body =
    times === 1
      ? lines
      : [
          `for (var turn = 0; turn < ${times}; turn++) {`,
          `let index = first + turn * ${width * grid[1]};`,
          `if (index >= ${invocations}) { break; }`,
          ...lines,
          '}',
        ];
  return {
    grid,
    text: [
      ...basesLines(bases, slotCount),
      ...slabs.declarations,
      ...needs.values(),
      `@compute @workgroup_size(${size})`,
      'fn main(@builtin(global_invocation_id) id: vec3u) {',
      times === 1 ? `let index = i32(id.x + id.y * ${width}u);` : `let first = i32(id.x + id.y * ${width}u);`,
      ...(times === 1 ? [`if (index >= ${invocations}) { return; }`] : []),
      ...body,
      '}',
    ].join('\n'),
  };
}

export function basesLines(bases: WgslOptions['bases'], slots: number): string[] {
  const fields = Array.from({ length: slots }, (_, i) => `b${i}: i32`).join(', ');
  return bases === 'immediates'
    ? ['requires immediate_address_space;', `struct Bases { ${fields} }`, 'var<immediate> bases: Bases;']
    : [`struct Bases { ${fields} }`, '@group(1) @binding(0) var<uniform> bases: Bases;'];
}

function elementByElement(kernel: Kernel, options: WgslOptions): WgslText {
  const avals = slotAvals(kernel);
  const slabs = boundSlabs(avals, options.slabs, false);
  const needs = new Map<string, string>();
  const code = makeCode(wgslLanguage(slabs, needs));
  const bounds = boundsOf(kernel);
  const vectors = makeVectors(bounds);
  code.open(kernel.extents.map((_, axis) => axis));
  const values = kernel.results.map(({ value }) => code.value(inFours(value, vectors, false)));
  const at = code.value(ownPosition(kernel.extents));
  kernel.results.forEach(({ aval }, i) => code.line(stored(kernel.operands.length + i, at, values[i]!, aval.dtype, slabs)));
  const inner = code.close();
  const lines = [...coordinateLines(kernel.extents, 'index'), ...code.scopes[0]!.lines, ...inner];
  return moduleText(slabs, needs, options, avals.length, { invocations: count(kernel.extents), lines });
}

/** Four elements of the last axis per invocation, in vectors; undefined when that doesn't suit. */
function elementInFours(kernel: Kernel, options: WgslOptions): WgslText | undefined {
  const { extents, results } = kernel;
  const axis = extents.length - 1;
  const avals = slotAvals(kernel);
  if (axis < 0 || extents[axis]! % 4 !== 0 || avals.some(({ dtype }) => dtype === 'float16')) return undefined;
  const bounds = boundsOf(kernel);
  const vectors = makeVectors(bounds);
  const lanes = fourLanes(
    results.map(({ value }) => inFours(value, vectors, true)),
    axis,
    vectors,
  );
  if (lanes === undefined || nodesIn(lanes.flat()) > mostNodesInFours) return undefined;
  const slabs = boundSlabs(avals, options.slabs, true);
  const needs = new Map<string, string>();
  const code = makeCode(wgslLanguage(slabs, needs));
  const quarters = extents.map((extent, i) => (i === axis ? extent / 4 : extent));
  code.open(extents.map((_, i) => i));
  const values = lanes.map((four) => four.map((lane) => code.value(lane)));
  const at = code.value(ownPosition(quarters));
  results.forEach(({ aval }, i) => code.line(stored(kernel.operands.length + i, at, values[i]!, aval.dtype, slabs)));
  const inner = code.close();
  const invocations = count(quarters);
  const loops = results.some(({ value }) => hasLoop(value));
  const lines = [...coordinateLines(quarters, 'index'), ...code.scopes[0]!.lines, ...inner];
  return moduleText(slabs, needs, options, avals.length, {
    invocations,
    lines,
    ...(loops || invocations < 16384 || options.adapter === 'gpu' ? {} : { times: 4 }),
  });
}

function hasLoop(scalar: Scalar): boolean {
  let found = false;
  visit([scalar], (one) => (found ||= one.kind === 'loop'));
  return found;
}

/** One invocation per update, or per place along the axes on which updates never meet, the rest in order. */
function updateText(kernel: Kernel, options: WgslOptions): WgslText {
  if (kernel.form.kind !== 'update') throw new Error('internal: runtime/compile: not an update');
  const { extents } = kernel;
  const avals = slotAvals(kernel);
  const slabs = boundSlabs(avals, options.slabs, false);
  const needs = new Map<string, string>();
  const code = makeCode(wgslLanguage(slabs, needs));
  const apart = kernel.form.disjoint ? extents.map((_, axis) => axis) : [...kernel.form.apart].toSorted((a, b) => a - b);
  const inOrder = extents.map((_, axis) => axis).filter((axis) => !apart.includes(axis));
  code.open(extents.map((_, axis) => axis));
  writeUpdates(kernel, code, slabs);
  const inner = code.close();
  const outer = apart.map((axis) => extents[axis]!);
  const names = coordinateLines(outer, 'index').map((line) =>
    line.replaceAll(/\bc(\d+)\b/g, (_, axis: string) => `outer${axis}`).replaceAll(/\bl(\d+)\b/g, 'left$1'),
  );
  const lines = [
    ...names,
    ...apart.map((axis, i) => `let c${axis} = outer${i};`),
    ...inOrder.map((axis) => `for (var c${axis} = 0; c${axis} < ${extents[axis]!}; c${axis}++) {`),
    ...code.scopes[0]!.lines,
    ...inner,
    ...inOrder.map(() => '}'),
  ];
  return moduleText(slabs, needs, options, avals.length, { invocations: count(outer), lines });
}

function writeUpdates(kernel: Kernel, code: Writer, slabs: Slabs): void {
  const written = kernel.results.map(({ aval, value, index, inside }, i) => ({
    when: inside === undefined ? undefined : code.value(inside),
    text: stored(kernel.operands.length + i, code.value(index![0]!), code.value(value), aval.dtype, slabs),
  }));
  for (const { when, text } of written) code.line(when === undefined ? text : `if (${when}) { ${text} }`);
}
