/**
 * Planned peaks against XLA's for the same programs: ours is lower or equal on each.
 *
 * And at most 1.05 times what a program written by hand needs, where that is known. XLA's figures are in goldens/xla.json, made by goldens/xla.py; no JAX is needed here. Ours count every array rounded up to
 * 256 bytes and the call's whole arena, so a few hundred bytes of rounding per small array are allowed.
 * Depends on: runtime, goldens.
 */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { compile } from '../../../runtime/compile/pipeline.ts';
import type { KnownAval } from '../../../runtime/core/aval.ts';
import type { Program } from '../../../runtime/core/program.ts';
import { lax, nn, np, valueAndGrad, type Array as A } from '../../../runtime/index.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { nullDevice } from '../../support/gpu.ts';
import { f32 } from '../../support/programs.ts';
import { trainingPrograms, type Body } from './training-programs.ts';

interface Golden {
  readonly programs: Readonly<Record<string, { readonly peakBytes: number }>>;
}
const golden = JSON.parse(readFileSync(new URL('../../goldens/xla.json', import.meta.url), 'utf8')) as Golden;

const norm = (x: A): A => {
  const c = x.sub(x.mean(-1, true));
  return c.div(np.sqrt(c.mul(c).mean(-1, true).add(1e-5)));
};
const forward = ([w1, b1, w2, b2, w3, b3]: readonly A[], x: A): A => {
  const h1 = nn.relu(x.matmul(w1!).add(b1!));
  return nn.relu(h1.matmul(w2!).add(b2!)).matmul(w3!).add(b3!);
};
const loss = (p: readonly A[], x: A, y: A): A => nn.logSoftmax(forward(p, x)).mul(y).sum(1).mean().neg();
const mlpStep: Body = (all) => {
  const [p, m, [x, y]] = [all.slice(0, 6), all.slice(6, 12), all.slice(12)];
  const [value, g] = valueAndGrad(loss)(p, x!, y!) as [A, readonly A[]];
  const next = m.map((one, i) => one.mul(0.9).add(g[i]!));
  return [...p.map((one, i) => one.sub(next[i]!.mul(0.05))), ...next, value];
};
const adamw: Body = ([p, m, v, g]) => {
  const m2 = m!.mul(0.9).add(g!.mul(0.1));
  const v2 = v!.mul(0.999).add(g!.mul(g!).mul(0.001));
  return [p!.sub(m2.div(np.sqrt(v2).add(1e-8)).add(p!.mul(0.01)).mul(0.001)), m2, v2];
};
const block: Body = ([x, qkv, out, up, down]) => {
  const mixed = norm(x!).matmul(qkv!).reshape([128, 3, 4, 64]).transpose([1, 2, 0, 3]);
  const [q, k, v] = [mixed.slice(0), mixed.slice(1), mixed.slice(2)];
  const a = nn.softmax(q.matmul(k.transpose([0, 2, 1])).mul(1 / 8), -1).matmul(v);
  const h = x!.add(a.transpose([1, 0, 2]).reshape([128, 256]).matmul(out!));
  return [h.add(nn.gelu(norm(h).matmul(up!)).matmul(down!))];
};
const repeated =
  (times: number, step: (x: A) => A): ((x: A) => A) =>
  (x) =>
    Array.from({ length: times }).reduce<A>((one) => step(one), x);
const heat = repeated(10, (x) => {
  const p = np.pad(x, 1);
  const [n, m] = x.shape as [number, number];
  const around = [
    p.slice([0, n], [1, m + 1]),
    p.slice([2, n + 2], [1, m + 1]),
    p.slice([1, n + 1], [0, m]),
    p.slice([1, n + 1], [2, m + 2]),
  ].reduce((sum, one) => sum.add(one));
  return x.add(around.sub(x.mul(4)).mul(0.1));
});

const layers = [f32(784, 512), f32(512), f32(512, 512), f32(512), f32(512, 10), f32(10)];
const big = f32(1024, 1024);
const batch = [f32(128, 784), f32(128, 10)];
const donating = (count: number, all: readonly KnownAval[]): readonly boolean[] => all.map((_, i) => i < count);
interface Case {
  readonly f: Body;
  readonly avals: readonly KnownAval[];
  readonly donated?: number;
  readonly floorBytes?: number;
}
const programs: Readonly<Record<string, Case>> = {
  ...trainingPrograms,
  'mlp step': { f: mlpStep, avals: [...layers, ...layers, ...batch] },
  'mlp step, donated': { f: mlpStep, avals: [...layers, ...layers, ...batch], donated: 12 },
  'mlp forward': { f: (all) => [forward(all.slice(0, 6), all[6]!)], avals: [...layers, batch[0]!] },
  adamw: { f: adamw, avals: [big, big, big, big] },
  'adamw, donated': { f: adamw, avals: [big, big, big, big], donated: 3 },
  'transformer block': { f: block, avals: [f32(128, 256), f32(256, 768), f32(256, 256), f32(256, 1024), f32(1024, 256)] },
  '16 products': { f: ([x, w]) => [repeated(16, (one) => one.matmul(w!))(x!)], avals: [f32(256, 256), f32(256, 256)] },
  'newton, donated': { f: ([x]) => [repeated(50, (one) => one.add(np.reciprocal(one)).mul(0.5))(x!)], avals: [big], donated: 1 },
  heat: { f: ([x]) => [heat(x!)], avals: [big] },
  softmax: { f: ([x]) => [nn.softmax(x!, -1)], avals: [big] },
  'layer norm, donated': { f: ([x]) => [norm(x!)], avals: [big], donated: 1 },
  scan: {
    f: ([w, x]) => {
      const [h, sums] = lax.scan((one: A): [A, A] => [np.tanh(one.matmul(w!)), one.sum()], x!, null, { length: 20 }) as [A, A];
      return [h, sums];
    },
    avals: [f32(256, 256), f32(64, 256)],
  },
};

describe('planned peaks against XLA', function () {
  this.timeout(60_000);
  const device = nullDevice();
  for (const [name, { f, avals, donated = 0, floorBytes }] of Object.entries(programs))
    it(`${name}: at most what XLA plans${floorBytes === undefined ? '' : ', and little above what it needs by hand'}`, () => {
      const program = trace(name, f as (operands: readonly Value[]) => readonly Value[], avals) as Program<Op>;
      const { analysis } = compile(program, { donated: donating(donated, avals), target: device.target });
      const theirs = golden.programs[name]!.peakBytes;
      const small = 256 * (analysis.values.filter(({ bytes }) => bytes <= 1024).length + 1);
      if (process.env['TIDEMARK_SHOW'] !== undefined) console.log(`      ${name}: ${analysis.peakBytes} against ${theirs}`);
      assert.ok(analysis.peakBytes <= theirs + small, `${analysis.peakBytes} bytes against XLA's ${theirs}`);
      if (floorBytes !== undefined)
        assert.ok(analysis.peakBytes <= 1.05 * floorBytes + small, `${analysis.peakBytes} bytes, by hand ${floorBytes}`);
    });
});
