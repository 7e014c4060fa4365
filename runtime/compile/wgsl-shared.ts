/**
 * Matrix products for GPUs: workgroups share tiles of both factors. Depends on: core, code, wgsl-bordered, wgsl-language, wgsl, wgsl-epilogue, kernel.
 */
import { makeCode } from './code.ts';
import type { Contraction, Factor, Kernel } from './kernel.ts';
import { basesLines, gridOf, slotAvals, type WgslOptions, type WgslText } from './wgsl.ts';
import { borderedLines } from './wgsl-bordered.ts';
import { finishText, lettersOf } from './wgsl-epilogue.ts';
import { boundSlabs, wgslLanguage } from './wgsl-language.ts';

const sharedTile = 64;
const sharedDepth = 16;

/** Workgroups of 16 × 16 invocations share tiles of 64 × 16 of both factors; each invocation has 4 × 4 results. */
export function writeShared(kernel: Kernel, contraction: Contraction, options: WgslOptions): WgslText {
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
  const fill = (factor: Factor, side: 0 | 1): string[] => {
    const name = side === 0 ? 'tileA' : 'tileB';
    const first = side === 0 ? 'row0' : 'column0';
    const limit = side === 0 ? rows : columns;
    // Neighbouring invocations read neighbouring elements.
    const alongDepth = factor.depthStride === 1;
    const split = alongDepth
      ? [`let kk = at % ${sharedDepth};`, `let f = at / ${sharedDepth};`]
      : [`let f = at % ${sharedTile};`, `let kk = at / ${sharedTile};`];
    const points = { axis: side === 0 ? 1 : 2, frees: ['free'], k: contraction.k, depths: ['along'] } as const;
    const { before, inside } = borderedLines(factor, 'x', points, slabs, code);
    return [
      `for (var turn = 0; turn < 4; turn++) {`,
      `let at = local + turn * 256;`,
      ...split,
      `var x = 0.0f;`,
      `if (${first} + f < ${limit} && k + kk < ${depth}) {`,
      `let free = ${first} + f;`,
      'let along = k + kk;',
      ...before,
      ...inside,
      'x = x0_0;',
      '}',
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
