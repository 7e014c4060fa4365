/**
 * Fusing long programs: what is done grows with their length, not with its square.
 *
 * Depends on: runtime/compile, runtime/transforms.
 */
import assert from 'node:assert/strict';
import type { Variable } from '../../../runtime/core/program.ts';
import { compile } from '../../../runtime/compile/pipeline.ts';
import { decide } from '../../../runtime/compile/decide.ts';
import { fuse, makeWorkshop } from '../../../runtime/compile/fuse.ts';
import { materialised } from '../../../runtime/compile/materialise.ts';
import { merged, readsOf } from '../../../runtime/compile/merge.ts';
import { overDonated } from '../../../runtime/compile/order/over.ts';
import { peakAlong, wire } from '../../../runtime/compile/order/walk.ts';
import { flatten, simplify, type Flat } from '../../../runtime/compile/simplify.ts';
import { slotAvals, wgsl } from '../../../runtime/compile/wgsl.ts';
import { split } from '../../../runtime/compile/split.ts';
import { grad, lax, nn, np, type Array as Traced } from '../../../runtime/index.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Program } from '../../../runtime/core/program.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { nullDevice } from '../../support/gpu.ts';
import { f32 } from '../../support/programs.ts';

const flatOf = (f: (operands: readonly Value[]) => readonly Value[], shapes: readonly (readonly number[])[]): Flat =>
  materialised(
    split(
      simplify(
        flatten(
          trace(
            'long',
            f,
            shapes.map((shape) => f32(...shape)),
          ) as Program<Op>,
        ),
      ),
    ),
  );

/** Layers of one shape, one after the other, and their gradient. */
const deep = (layers: number): Flat =>
  flatOf(
    ([x, ...weights]) => {
      const loss = (own: Traced[]): Traced => own.reduce((h, w) => np.tanh(h.matmul(w)), x as Traced).sum();
      return grad(loss)(weights as Traced[]) as Value[];
    },
    [[8, 16], ...Array.from({ length: layers }, () => [16, 16])],
  );

/** A step for many parameters of one shape, side by side; all read the same rate. */
const wide = (parameters: number): Flat =>
  flatOf(
    ([rate, ...all]) =>
      Array.from({ length: parameters }, (_, i) => {
        const [p, m] = [all[2 * i]!, all[2 * i + 1]!];
        return p.sub(m.mul(rate!));
      }),
    [[1], ...Array.from({ length: 2 * parameters }, () => [64])],
  );

const workshop = () => makeWorkshop(() => []);

const shapesStored = (flat: Flat): string[] =>
  fuse(flat, { eagerness: 'all', merge: 'all', workshop: workshop() }).nodes.flatMap(({ results }) =>
    results.map(({ aval }) => aval.shape.join()),
  );

describe('fusing', () => {
  it('writes a kernel once for all layers of one shape', () => {
    const [few, many] = [workshop(), workshop()];
    fuse(deep(6), { eagerness: 'careful', merge: 'all', workshop: few });
    fuse(deep(24), { eagerness: 'careful', merge: 'all', workshop: many });
    assert.ok(few.writer.written() > 3);
    assert.equal(many.writer.written(), few.writer.written());
  });

  it('gives equal layers their own operands and places', () => {
    const { nodes } = fuse(deep(6), { eagerness: 'careful', merge: new Set(), workshop: workshop() });
    const made = new Set<Variable>();
    for (const { operands, results } of nodes) {
      for (const operand of operands) assert.ok(made.has(operand) || nodes.every((node) => !node.results.includes(operand)));
      for (const result of results) {
        assert.ok(!made.has(result), 'a variable is made twice');
        made.add(result);
      }
    }
  });

  it('stores no product that only its own kernel reads', () => {
    const flat = flatOf(
      ([a, b, m, v]) => {
        const g = a!.matmul(b!);
        return [m!.mul(0.9).add(g), v!.mul(0.99).add(g.mul(g))];
      },
      [
        [8, 16],
        [16, 8],
        [8, 8],
        [8, 8],
      ],
    );
    const { nodes } = fuse(flat, { eagerness: 'all', merge: 'all', workshop: workshop() });
    assert.deepEqual(
      nodes.map(({ results }) => results),
      [flat.outputs],
    );
  });

  it('stores neither borders nor gaps nor turned kernels of convolutions and their gradients', () => {
    const flat = flatOf(
      ([x, w, v]) => {
        const loss = ([kernel, second]: Traced[]): Traced =>
          np.square(lax.conv(np.tanh(lax.conv(x as Traced, kernel!, [2, 2], 'SAME')), second!, [2, 2], 'SAME')).sum();
        return grad(loss)([w, v] as Traced[]) as Value[];
      },
      [
        [2, 3, 9, 9],
        [4, 3, 3, 3],
        [5, 4, 3, 3],
      ],
    );
    // The two layers, their gradients, and those of the kernels.
    assert.deepEqual(shapesStored(flat).toSorted(), ['2,4,5,5', '2,4,5,5', '2,5,3,3', '4,3,3,3', '5,4,3,3']);
  });

  it('computes a function again beside products, rather than store it for the gradient', () => {
    const flat = flatOf(
      ([x, w, v]) => {
        const loss = ([first, second]: Traced[]): Traced => {
          const h = (x as Traced).matmul(first!);
          return h.mul(np.tanh(h)).matmul(second!).sum();
        };
        return grad(loss)([w, v] as Traced[]) as Value[];
      },
      [
        [32, 64],
        [64, 48],
        [48, 64],
      ],
    );
    // The layer before and after its function, and the layer's gradient; not the function.
    assert.equal(shapesStored(flat).filter((shape) => shape === '32,48').length, 3);
  });

  it('stores nothing of all pairs that one kernel can go through', () => {
    const flat = flatOf(
      ([p, m]) => {
        const apart = p!.reshape([1, 64, 3]).sub(p!.reshape([64, 1, 3])) as Traced;
        const squared = apart.mul(apart).sum(-1).add(1e-3);
        const pull = (m as Traced).div(squared.mul(np.sqrt(squared)));
        return [apart.mul(pull.reshape([64, 64, 1])).sum(1) as Value];
      },
      [
        [64, 3],
        [1, 64],
      ],
    );
    assert.deepEqual(shapesStored(flat), ['64,3']);
  });

  it('keeps of attention its weights only', () => {
    const program = trace(
      'attention',
      ([q, k, v]) => {
        const loss = (all: Traced[]): Traced => np.square(nn.softmax(all[0]!.matmul(all[1]!.transpose())).matmul(all[2]!)).sum();
        return grad(loss)([q, k, v] as Traced[]) as Value[];
      },
      [f32(32, 16), f32(40, 16), f32(40, 24)],
    );
    const { analysis } = compile(program as Program<Op>, { donated: [false, false, false], target: nullDevice().target });
    const { values, steps } = analysis;
    const isOver = (index: number, step: number): boolean => values.some(({ reuses, born }) => reuses === index && born <= step);
    const buffersAt = (step: number): number =>
      values.filter(({ shape, born, dies }, i) => shape.join() === '32,40' && born <= step && step < dies && !isOver(i, step)).length;
    // The weights, and their gradient.
    assert.equal(Math.max(...Array.from({ length: steps }, (_, step) => buffersAt(step))), 2);
  });

  for (const [title, f] of [
    ['a norm', (x: Value) => [np.square(x.sub(x.mean(-1, true))).mean(-1, true), x.mean(-1, true)]],
    ['a softmax', (x: Value) => [np.exp(x.sub(x.max(-1, true))).sum(-1, true), x.max(-1, true)]],
  ] as const)
    it(`goes twice through the rows of ${title}, once for each reduction, however many lanes and results read the first`, () => {
      const program = trace(title, ([x]) => f(x!) as Value[], [f32(128, 256)]) as Program<Op>;
      const { kernels } = compile(program, { donated: [false], target: nullDevice().target });
      assert.equal(kernels.length, 1);
      for (const aligned of [true, false]) {
        const slabs = slotAvals(kernels[0]!).map(() => 0);
        const { text } = wgsl(kernels[0]!, { slabs, aligned, adapter: 'software', bases: 'immediates' });
        assert.equal(text.match(/^for /gm)?.length, 2, text);
      }
    });

  it('lets an update run after the last reader of the donated value that it may write over', () => {
    // 0 makes a gradient, 1 updates the donated weight, 2 still reads the old weight.
    const wiring = wire({
      bytes: [64, 16, 64, 64, 16],
      inputs: [{ value: 0, donated: true }],
      nodes: [
        { reads: [], makes: [1] },
        { reads: [0, 1], makes: [2], overwrites: [{ result: 2, operand: 0 }] },
        { reads: [0], makes: [4] },
      ],
      outputs: [2, 4],
    });
    assert.deepEqual(overDonated(wiring, [0, 1, 2]), [0, 2, 1]);
    assert.ok(peakAlong(wiring, [0, 2, 1]) < peakAlong(wiring, [0, 1, 2]));
  });

  for (const [name, program] of [
    ['deep', deep],
    ['wide', wide],
  ] as const)
    it(`looks at few hosts for each group of a ${name} program`, () => {
      const looks = (length: number): number => {
        const flat = program(length);
        const decision = decide(flat, { eagerness: 'careful', forced: new Set() });
        const equations = new Map(flat.equations.flatMap((equation) => equation.outputs.map((output) => [output, equation] as const)));
        const definitions = { of: (one: Variable) => equations.get(one), stored: (one: Variable) => decision.stored.has(one) };
        const groups = flat.equations.flatMap(({ outputs: [result] }) =>
          decision.stored.has(result!) && !decision.aliases.has(result!)
            ? [{ results: [result!], ...(decision.products.has(result!) ? { contraction: decision.products.get(result!)! } : {}) }]
            : [],
        );
        let seen = 0;
        const reads = readsOf(groups, definitions);
        merged({ groups, reads, aliases: decision.aliases, may: () => true, apart: new Set() }, (hosts) => (seen += hosts));
        return seen / groups.length;
      };
      assert.ok(looks(400) <= 2 * looks(50) + 2, `${looks(50)} for each of 50, ${looks(400)} for each of 400`);
    });
});
