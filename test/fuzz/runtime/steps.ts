/**
 * What a random array program can do in one step: a table of names, each a function of arrays and a few draws.
 *
 * Sizes stay small: what grows too large is summed. A step that does not fit its operands throws what the runtime throws.
 * Depends on: runtime, support/programs (draws).
 */
import {
  checkpoint,
  customJvp,
  customVjp,
  grad,
  jacfwd,
  jacrev,
  jvp,
  lax,
  nn,
  np,
  vjp,
  vmap,
  type Array as A,
} from '../../../runtime/index.ts';
import type { Draw } from '../../support/programs.ts';

export interface Hand {
  readonly draw: Draw;
  /** Another array of the program. */
  readonly other: () => A;
  /** Another one of the same shape; the array itself when there is none. */
  readonly alike: (x: A) => A;
}

export type Step = (x: A, hand: Hand) => A;

const axisOf = (x: A, draw: Draw): number => draw(Math.max(1, x.ndim));
const flatRow = (x: A): A => x.reshape([x.size]);
const rows = (x: A): A =>
  x.ndim === 0 ? x.reshape([1, 1]) : x.ndim === 1 ? x.reshape([x.size, 1]) : x.reshape([x.shape[0]!, x.size / x.shape[0]!]);
/** Keeps magnitudes near one, so that nothing overflows after many steps. */
const tame = (x: A): A => np.tanh(x.mul(0.5));

export const elementwise: Readonly<Record<string, Step>> = {
  tanh: (x) => np.tanh(x),
  exp: (x) => np.exp(tame(x)),
  log: (x) => np.log(np.abs(x).add(0.5)),
  sqrt: (x) => np.sqrt(np.abs(x).add(0.1)),
  sin: (x) => np.sin(x),
  abs: (x) => np.abs(x),
  square: (x) => np.square(tame(x)),
  negative: (x) => x.neg(),
  relu: (x) => nn.relu(x),
  sigmoid: (x) => nn.sigmoid(x),
  scale: (x, { draw }) => x.mul(0.25 + draw(8) / 8),
  shift: (x, { draw }) => x.add(draw(16) / 8 - 1),
  clip: (x) => np.clip(x, -0.75, 0.75),
  add: (x, { alike }) => x.add(alike(x)),
  subtract: (x, { alike }) => x.sub(alike(x)),
  multiply: (x, { alike }) => tame(x).mul(tame(alike(x))),
  divide: (x, { alike }) => x.div(np.square(tame(alike(x))).add(1)),
  maximum: (x, { alike }) => x.maximum(alike(x)),
  where: (x, { alike }) => np.where(x.greater(0.1), x, alike(x).mul(0.5)),
  broadcast: (x, { other }) => x.add(other().sum()),
  integers: (x) => np.floor(x.mul(4)).astype('int32').add(3).astype('float32').mul(0.25),
};

export const shaping: Readonly<Record<string, Step>> = {
  transpose: (x) => x.transpose(),
  flatten: (x) => flatRow(x),
  rows: (x) => rows(x),
  slice: (x, { draw }) => (x.ndim === 0 ? x : x.slice([0, 1 + draw(x.shape[0]!)])),
  row: (x, { draw }) => (x.ndim === 0 ? x : x.slice(draw(x.shape[0]!))),
  flip: (x, { draw }) => (x.ndim === 0 ? x : np.flip(x, axisOf(x, draw))),
  roll: (x, { draw }) => (x.ndim === 0 ? x : np.roll(x, 1 + draw(3), axisOf(x, draw))),
  concatenate: (x, { alike }) => (x.ndim === 0 ? x : np.concatenate([x, alike(x)], 0)),
  stack: (x, { alike }) => np.stack([x, alike(x)]),
  pad: (x) => (x.ndim === 0 ? x : np.pad(x, 1)),
  repeat: (x, { draw }) => (x.ndim === 0 ? x : np.repeat(x, 2, axisOf(x, draw))),
  expand: (x, { draw }) => np.expandDims(x, draw(x.ndim + 1)),
};

export const reducing: Readonly<Record<string, Step>> = {
  sum: (x, { draw }) => (x.ndim === 0 ? x : x.sum(axisOf(x, draw)).mul(0.5)),
  mean: (x, { draw }) => (x.ndim === 0 ? x : x.mean(axisOf(x, draw))),
  max: (x, { draw }) => (x.ndim === 0 ? x : x.max(axisOf(x, draw))),
  centre: (x, { draw }) => (x.ndim === 0 ? x : x.sub(x.mean(axisOf(x, draw), { keepdims: true }))),
  softmax: (x) => (x.ndim === 0 ? x : nn.softmax(x)),
  cumsum: (x, { draw }) => (x.ndim === 0 ? x : np.cumsum(x, axisOf(x, draw)).mul(0.25)),
  sort: (x, { draw }) => (x.ndim === 0 ? x : np.sort(x, axisOf(x, draw))),
  argmax: (x, { draw }) => (x.ndim === 0 ? x : np.argmax(x, axisOf(x, draw)).astype('float32').mul(0.125)),
};

export const products: Readonly<Record<string, Step>> = {
  gram: (x) => rows(x).matmul(rows(x).transpose()).mul(0.1),
  matmul: (x, { other }) => {
    const [a, b] = [rows(x), rows(other())];
    return a.shape[1] === b.shape[0]
      ? a.matmul(b).mul(0.2)
      : a.shape[0] === b.shape[0]
        ? a.transpose().matmul(b).mul(0.2)
        : a.matmul(a.transpose()).mul(0.2);
  },
  einsum: (x) => np.einsum('ij,kj->ik', rows(x), rows(x)).mul(0.1),
  'einsum of three': (x) => np.einsum('ij,kj,kl->il', rows(x), rows(x), rows(x)).mul(0.02),
  'einsum of diagonals': (x) => {
    const square = rows(x).matmul(rows(x).transpose()).mul(0.1);
    return np.einsum('ii,i...->i', square, rows(x)).mul(0.25);
  },
  outer: (x) => np.outer(flatRow(x).slice([0, Math.min(8, x.size)]), flatRow(x).slice([0, Math.min(8, x.size)])),
};

export const updates: Readonly<Record<string, Step>> = {
  set: (x, { draw }) => (x.ndim === 0 ? x : x.at(draw(x.shape[0]!)).set(0.5)),
  'add at': (x, { draw }) => (x.ndim === 0 ? x : x.at([0, 1 + draw(x.shape[0]!)]).add(0.25)),
  take: (x) => (x.ndim === 0 ? x : np.take(x, np.array([0, x.shape[0]! - 1, 0], 'int32'), 0)),
  scatter: (x) => (x.ndim === 0 ? x : x.at(np.array([0, x.shape[0]! - 1, 0], 'int32')).add(0.5)),
  'update slice': (x, { draw }) => {
    const row = flatRow(x);
    return lax.dynamicUpdateSlice(row, row.slice([0, 1]).mul(2), [np.array(draw(x.size), 'int32')]).reshape(x.shape);
  },
  'read slice': (x, { draw }) => {
    const row = flatRow(x);
    return lax.dynamicSlice(row, [np.array(draw(x.size), 'int32')], [Math.max(1, x.size >> 1)]);
  },
  'slice from the end': (x, { draw }) => {
    const row = flatRow(x);
    return lax.dynamicSlice(row, [np.array(-1 - draw(x.size), 'int32')], [Math.max(1, x.size >> 1)]);
  },
  backwards: (x, { draw }) => (x.ndim === 0 ? x : x.slice([-1, -99, -1 - draw(2)])),
  'picked apart': (x) => {
    const cube = np.stack([rows(x), rows(x).mul(2)]);
    const picked = np.array([cube.shape[2]! - 1, 0], 'int32');
    return cube.at(1, [], picked).add(0.25).slice(1, [], picked);
  },
  'scatter max': (x, { draw }) => (x.ndim === 0 ? x : x.at(np.array([0, draw(x.shape[0]!)], 'int32')).max(0.1)),
};

/** A small function of one array that keeps its shape. */
const inner = (draw: Draw): ((x: A) => A) => {
  const names = ['tanh', 'scale', 'shift', 'sin', 'relu', 'sigmoid', 'square'] as const;
  const chosen = [names[draw(names.length)]!, names[draw(names.length)]!];
  const seed = draw(8);
  return (x) => chosen.reduce((y, name) => elementwise[name]!(y, { draw: () => seed, other: () => y, alike: (one) => one }), x);
};

export const control: Readonly<Record<string, Step>> = {
  forLoop: (x, { draw }) => {
    const f = inner(draw);
    return lax.foriLoop(0, 1 + draw(4), (i, c: A) => f(c).add(i.astype('float32').mul(0.01)), x);
  },
  'loop of products': (x, { draw }) => {
    const w = rows(x).transpose().matmul(rows(x)).mul(0.05);
    return lax.foriLoop(0, 1 + draw(5), (_, c: A) => tame(c.matmul(w)), rows(x));
  },
  scan: (x, { draw }) => {
    const f = inner(draw);
    const sequence = rows(x);
    const [last, each] = lax.scan(
      (c: A, y: A): [A, A] => [f(c.add(y.sum())), c.mul(y)],
      np.zeros([sequence.shape[1]!]),
      sequence,
      draw(2) === 0 ? { reverse: true } : {},
    );
    return each.add(last);
  },
  'two carries': (x, { draw, alike }) => {
    const f = inner(draw);
    const [a, b] = lax.foriLoop(0, 1 + draw(4), (_, [p, q]: [A, A]): [A, A] => [q, f(p)], [x, alike(x)] as [A, A]);
    return a.sub(b);
  },
  whileLoop: (x, { draw }) => {
    const f = inner(draw);
    const rounds = 1 + draw(3);
    const [, y] = lax.whileLoop(
      ([i]: [A, A]) => i.less(rounds),
      ([i, c]: [A, A]): [A, A] => [i.add(1), f(c)],
      [np.array(0, 'int32'), x] as [A, A],
    );
    return y;
  },
  cond: (x, { draw }) => {
    const f = inner(draw);
    return lax.cond(
      x.sum().greater(0),
      (y: A) => f(y),
      (y: A) => y,
      x,
    );
  },
  'cond in a loop': (x, { draw }) => {
    const f = inner(draw);
    return lax.foriLoop(
      0,
      2 + draw(3),
      (i, c: A) =>
        lax.cond(
          i.less(2),
          (y: A) => f(y),
          (y: A) => y,
          c,
        ),
      x,
    );
  },
  switch: (x, { draw, alike }) => {
    const f = inner(draw);
    return lax.switch(np.array(draw(3), 'int32'), [(y: A, z: A) => f(y).add(z), (y: A, z: A) => z.sub(y), (_: A, z: A) => z], x, alike(x));
  },
  map: (x, { draw }) => {
    const f = inner(draw);
    return x.ndim === 0 ? f(x) : lax.map((row: A) => f(row).sub(row.mean()), x);
  },
};

export const transforms: Readonly<Record<string, Step>> = {
  grad: (x, { draw }) => {
    const f = inner(draw);
    return grad((y: A) => f(y).sum())(x);
  },
  'grad of a loop': (x, { draw }) => {
    const f = inner(draw);
    return grad((y: A) => lax.foriLoop(0, 1 + draw(3), (_, c: A) => f(c), y).sum())(x);
  },
  'grad of cond': (x, { draw }) => {
    const f = inner(draw);
    return grad((y: A) =>
      lax
        .cond(
          y.sum().greater(0),
          (z: A) => f(z),
          (z: A) => z.mul(2),
          y,
        )
        .sum(),
    )(x);
  },
  checkpoint: (x, { draw }) => {
    const f = inner(draw);
    return grad((y: A) => checkpoint((z: A) => f(f(z)))(y).sum())(x);
  },
  vmap: (x, { draw }) => {
    const f = inner(draw);
    return x.ndim === 0 ? f(x) : vmap((row: A) => f(row).sub(row.max()))(x);
  },
  'vmap of a loop': (x, { draw }) => {
    const f = inner(draw);
    return x.ndim === 0 ? f(x) : vmap((row: A) => lax.foriLoop(0, 1 + draw(3), (_, c: A) => f(c), row))(x);
  },
  jvp: (x, { draw, alike }) => {
    const f = inner(draw);
    const [y, t] = jvp(f, [x], [alike(x)]) as [A, A];
    return y.add(t);
  },
  vjp: (x, { draw }) => {
    const f = inner(draw);
    const [y, pull] = vjp(f, [x]) as unknown as [A, (ct: A) => readonly A[] | A];
    const back = pull(y);
    return Array.isArray(back) ? back[0]! : back;
  },
  'own gradient': (x, { draw }) => {
    const f = inner(draw);
    const own = customVjp((y: A) => f(y));
    own.defvjp(
      (y) => [own(y), y] as const,
      (y, g) => [g.mul(np.cos(y))],
    );
    return grad((y: A) => own(y).sum())(x).add(own(x));
  },
  'own tangent': (x) => {
    const own = customJvp((y: A) => np.sin(y));
    own.defjvp(([y], [t]) => [own(y), t.mul(np.cos(y)).mul(0.5)]);
    return grad((y: A) => grad((z: A) => own(z).sum())(y).sum())(x);
  },
  jacobian: (x, { draw }) => {
    const f = inner(draw);
    const few = flatRow(x).slice([0, Math.min(4, x.size)]);
    return (draw(2) === 0 ? jacfwd : jacrev)((y: A) => f(y).mul(y.sum()))(few);
  },
  prefixes: (x) => (x.ndim === 0 ? x : lax.associativeScan((a: A, b: A) => tame(a.add(b)), x)),
};

export const steps: Readonly<Record<string, Step>> = {
  ...elementwise,
  ...shaping,
  ...reducing,
  ...products,
  ...updates,
  ...control,
  ...transforms,
};

/** How often each kind of step is drawn. */
export const kinds: readonly (readonly [Readonly<Record<string, Step>>, number])[] = [
  [elementwise, 8],
  [shaping, 4],
  [reducing, 4],
  [products, 2],
  [updates, 3],
  [control, 3],
  [transforms, 3],
];
