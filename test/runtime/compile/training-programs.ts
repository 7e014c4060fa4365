/**
 * Programs of the kinds that people write: training steps of small nets, and simulations.
 *
 * Each says what it donates, and, where that is known, the bytes that a program written by hand needs at its peak. The same
 * programs for JAX are in goldens/xla.py. Depends on: runtime, support/programs.
 */
import type { KnownAval } from '../../../runtime/core/aval.ts';
import { lax, nn, np, valueAndGrad, type Array as A } from '../../../runtime/index.ts';
import { f32 } from '../../support/programs.ts';

export type Body = (operands: readonly A[]) => readonly A[];
export interface TrainingProgram {
  readonly f: Body;
  readonly avals: readonly KnownAval[];
  /** The first so many arguments are donated. */
  readonly donated: number;
  readonly floorBytes?: number;
}

type Loss = (parameters: readonly A[], ...rest: A[]) => A;
const whole = (...shape: number[]): KnownAval => ({ shape, dtype: 'int32' });
const bytesOf = (avals: readonly KnownAval[]): number =>
  avals.reduce((sum, { shape }) => sum + 4 * shape.reduce((product, extent) => product * extent, 1), 0);
const differentiated = (loss: Loss, parameters: readonly A[], rest: readonly A[]): [A, readonly A[]] =>
  (valueAndGrad(loss as never) as unknown as (...all: unknown[]) => [A, readonly A[]])(parameters, ...rest);

/** A step of SGD with momentum: parameters, momentum, the rest. */
const withMomentum = (loss: Loss, parameters: readonly KnownAval[], rest: readonly KnownAval[]): TrainingProgram => ({
  f: (all) => {
    const n = parameters.length;
    const [own, momentum] = [all.slice(0, n), all.slice(n, 2 * n)];
    const [value, g] = differentiated(loss, own, all.slice(2 * n));
    const next = momentum.map((one, i) => one.mul(0.9).add(g[i]!));
    return [...own.map((one, i) => one.sub(next[i]!.mul(0.05))), ...next, value];
  },
  avals: [...parameters, ...parameters, ...rest],
  donated: 2 * parameters.length,
});

const states = 128;
const gru: Loss = ([wx, wh, wo], x, y) => {
  const part = (gates: A, i: number): A => gates.slice([], [i * states, (i + 1) * states]);
  const cell = (h: A, one: A): [A, A] => {
    const [a, b] = [one.matmul(wx!), h.matmul(wh!)];
    const [r, z] = [0, 1].map((i) => nn.sigmoid(part(a, i).add(part(b, i))));
    const n = np.tanh(part(a, 2).add(r!.mul(part(b, 2))));
    const next = n.add(z!.mul(h.sub(n)));
    return [next, next];
  };
  const [, all] = lax.scan(cell, np.zeros([64, states]), x!) as [A, A];
  return np.square(all.matmul(wo!).sub(y!)).mean();
};

const conv = (x: A, w: A, stride = 1): A => lax.conv(x, w, [stride, stride], 'SAME');
const crossEntropy = (logits: A, y: A): A => nn.logSoftmax(logits).mul(y).sum(1).mean().neg();
const convNet: Loss = ([w1, w2, w3, out], x, y) => {
  const h = [w1!, w2!, w3!].reduce((one, w, i) => nn.relu(conv(one, w, i < 2 ? 2 : 1)), x!);
  return crossEntropy(h.mean([2, 3]).matmul(out!), y!);
};

const doubled = (x: A): A => {
  const [n, c, h, w] = x.shape as [number, number, number, number];
  return x
    .reshape([n, c, h, 1, w, 1])
    .broadcastTo([n, c, h, 2, w, 2])
    .reshape([n, c, 2 * h, 2 * w]);
};
const unet: Loss = ([w1, w2, w3, w4, w5], x, y) => {
  const wide = nn.relu(conv(x!, w1!));
  const low = nn.relu(conv(nn.relu(conv(wide, w2!, 2)), w3!));
  return np.square(conv(nn.relu(conv(np.concatenate([doubled(low), wide], 1), w4!)), w5!).sub(y!)).mean();
};

const batchNorm = (x: A, scale: A, shift: A): A => {
  const centred = x.sub(x.mean([0, 2, 3], true));
  const spread = centred.mul(centred).mean([0, 2, 3], true);
  return centred
    .div(np.sqrt(spread.add(1e-5)))
    .mul(scale.reshape([1, -1, 1, 1]))
    .add(shift.reshape([1, -1, 1, 1]));
};
const resnet: Loss = ([w0, w1, scale1, shift1, w2, scale2, shift2, out], x, y) => {
  const h = nn.relu(conv(x!, w0!));
  const inner = nn.relu(batchNorm(conv(h, w1!), scale1!, shift1!));
  const h2 = nn.relu(h.add(batchNorm(conv(inner, w2!), scale2!, shift2!)));
  return crossEntropy(h2.mean([2, 3]).matmul(out!), y!);
};

const pooled: Loss = ([w1, w2, out], x, y) => {
  const pool = (h: A): A => lax.reduceWindow(h, np.max, [1, 1, 2, 2], [1, 1, 2, 2]);
  const h = pool(nn.relu(conv(pool(nn.relu(conv(x!, w1!))), w2!)));
  return crossEntropy(h.reshape([32, -1]).matmul(out!), y!);
};

const values = ([w1, w2, w3]: readonly A[], x: A): A => nn.relu(nn.relu(x.matmul(w1!)).matmul(w2!)).matmul(w3!);
const qLearning: Body = (all) => {
  const [own, target, momentum] = [all.slice(0, 3), all.slice(3, 6), all.slice(6, 9)];
  const [s, action, reward, s2, going] = all.slice(9) as [A, A, A, A, A];
  const loss: Loss = (q) => {
    const wanted = reward.add(values(target, s2).max(1).mul(0.99).mul(going));
    return np.square(values(q, s).mul(nn.oneHot(action, 16)).sum(1).sub(lax.stopGradient(wanted))).mean();
  };
  const [value, g] = differentiated(loss, own, []);
  const m = momentum.map((one, i) => one.mul(0.9).add(g[i]!));
  const p = own.map((one, i) => one.sub(m[i]!.mul(1e-3)));
  return [...p, ...target.map((one, i) => one.mul(0.995).add(p[i]!.mul(0.005))), ...m, value];
};

const diffusion: Body = (all) => {
  const [own, average, first, second] = [0, 3, 6, 9].map((start) => all.slice(start, start + 3)) as [A[], A[], A[], A[]];
  const [x, noise, level] = all.slice(12) as [A, A, A];
  const loss: Loss = ([w1, w2, w3]) => {
    const noisy = x.mul(np.sqrt(level.neg().add(1))).add(noise.mul(np.sqrt(level)));
    const h = nn.silu(noisy.matmul(w1!));
    return np.square(nn.silu(h.matmul(w2!)).add(h).matmul(w3!).sub(noise)).mean();
  };
  const [value, g] = differentiated(loss, own, []);
  const m = first.map((one, i) => one.mul(0.9).add(g[i]!.mul(0.1)));
  const v = second.map((one, i) => one.mul(0.999).add(g[i]!.mul(g[i]!).mul(0.001)));
  const p = own.map((one, i) => one.sub(m[i]!.div(np.sqrt(v[i]!).add(1e-8)).mul(1e-3)));
  return [...p, ...average.map((one, i) => one.mul(0.999).add(p[i]!.mul(0.001))), ...m, ...v, value];
};

const language: Body = ([embedding, w, out, tokens, following]) => {
  const loss: Loss = ([e, w1, w2]) => {
    const logits = np.tanh(np.take(e!, tokens!, 0).matmul(w1!)).matmul(w2!);
    return np
      .takeAlongAxis(nn.logSoftmax(logits), following!.reshape([-1, 1]), 1)
      .mean()
      .neg();
  };
  const own = [embedding!, w!, out!];
  const [value, g] = differentiated(loss, own, []);
  return [...own.map((one, i) => one.sub(g[i]!.mul(0.1))), value];
};

const slopeAlong = (x: A, axis: number): A =>
  np
    .roll(x, -1, axis)
    .sub(np.roll(x, 1, axis))
    .mul(0.5);
const shallowWater: Body = ([h0, u0, v0]) =>
  lax.foriLoop(
    0,
    100,
    (_: unknown, [h, u, v]: [A, A, A]): [A, A, A] => {
      const u2 = u.sub(slopeAlong(h, 1).mul(0.1));
      const v2 = v.sub(slopeAlong(h, 0).mul(0.1));
      return [h.sub(slopeAlong(u2, 1).add(slopeAlong(v2, 0)).mul(0.1)), u2, v2];
    },
    [h0!, u0!, v0!] as [A, A, A],
  ) as readonly A[];

const jacobi: Body = ([x0, b]) => [
  lax.foriLoop(
    0,
    50,
    (_: unknown, x: A): A => {
      const around = [np.roll(x, 1, 0), np.roll(x, -1, 0), np.roll(x, 1, 1), np.roll(x, -1, 1)];
      return around
        .reduce((sum, one) => sum.add(one))
        .add(b!)
        .mul(0.25);
    },
    x0!,
  ) as A,
];

const bodies: Body = ([p, v, m]) => {
  const apart = p!.reshape([1, 1024, 3]).sub(p!.reshape([1024, 1, 3]));
  const squared = apart.mul(apart).sum(-1).add(1e-3);
  const pull = m!.div(squared.mul(np.sqrt(squared))).reshape([1024, 1024, 1]);
  const next = v!.add(apart.mul(pull).sum(1).mul(0.01));
  return [p!.add(next.mul(0.01)), next];
};

const kernels = [f32(16, 1, 3, 3), f32(32, 16, 3, 3), f32(64, 32, 3, 3), f32(64, 10)];
const normed = [f32(32, 32, 3, 3), f32(32), f32(32)];
const net = [f32(64, 512), f32(512, 512), f32(512, 16)];
const denoiser = [f32(256, 512), f32(512, 512), f32(512, 256)];
const field = f32(512, 512);
const played = [...net, ...net, ...net, f32(256, 64), whole(256), f32(256), f32(256, 64), f32(256)];
const noised = [...denoiser, ...denoiser, ...denoiser, ...denoiser, f32(256, 256), f32(256, 256), f32(256, 1)];
const spoken = [f32(2048, 128), f32(128, 128), f32(128, 2048), whole(1024), whole(1024)];
const pairs = [f32(1024, 3), f32(1024, 3), f32(1, 1024)];

export const trainingPrograms: Readonly<Record<string, TrainingProgram>> = {
  'gru, donated': withMomentum(gru, [f32(64, 384), f32(128, 384), f32(128, 32)], [f32(32, 64, 64), f32(32, 64, 32)]),
  'conv net, donated': {
    ...withMomentum(convNet, kernels, [f32(64, 1, 28, 28), f32(64, 10)]),
    // The results of the three layers; each layer's gradient is written over its result.
    floorBytes: bytesOf([
      ...kernels,
      ...kernels,
      f32(64, 1, 28, 28),
      f32(64, 10),
      f32(64, 16, 14, 14),
      f32(64, 32, 7, 7),
      f32(64, 64, 7, 7),
    ]),
  },
  'u-net, donated': withMomentum(
    unet,
    [f32(16, 3, 3, 3), f32(32, 16, 3, 3), f32(32, 32, 3, 3), f32(16, 48, 3, 3), f32(3, 16, 3, 3)],
    [f32(8, 3, 32, 32), f32(8, 3, 32, 32)],
  ),
  'resnet block, donated': withMomentum(resnet, [f32(32, 3, 3, 3), ...normed, ...normed, f32(32, 10)], [f32(16, 3, 24, 24), f32(16, 10)]),
  'max pooling, donated': withMomentum(pooled, [f32(16, 1, 3, 3), f32(32, 16, 3, 3), f32(1568, 10)], [f32(32, 1, 28, 28), f32(32, 10)]),
  // Both layers; their gradients are written over them, and each net is read before its successor is written over it.
  'q-learning, donated': { f: qLearning, avals: played, donated: 9, floorBytes: bytesOf([...played, f32(256, 512), f32(256, 512)]) },
  // Both layers before and after their function, what goes into the first, and the gradient of the result.
  'diffusion, donated': {
    f: diffusion,
    avals: noised,
    donated: 12,
    floorBytes: bytesOf([...noised, ...Array.from({ length: 4 }, () => f32(256, 512)), f32(256, 256), f32(256, 256)]),
  },
  // The logits, over which their gradient is written; the rows of the embedding, and the layer.
  'language model, donated': {
    f: language,
    avals: spoken,
    donated: 3,
    floorBytes: bytesOf([...spoken, f32(1024, 2048), f32(1024, 128), f32(1024, 128)]),
  },
  'shallow water, donated': { f: shallowWater, avals: [field, field, field], donated: 3, floorBytes: bytesOf([field, field, field]) },
  // The next state cannot be written over the one that its neighbours are read from.
  'jacobi, donated': { f: jacobi, avals: [field, field], donated: 1, floorBytes: bytesOf([field, field, field]) },
  'all pairs of bodies, donated': { f: bodies, avals: pairs, donated: 2, floorBytes: bytesOf(pairs) },
};
