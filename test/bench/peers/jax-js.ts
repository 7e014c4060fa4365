/**
 * The workloads in jax-js: operations consume, and a reference is taken for every use but the last. Depends on: workloads, `@jax-js/jax`.
 */
import {
  attended,
  batch,
  digits,
  digitsInBatch,
  heads,
  kernels,
  labelsOf,
  sizes,
  startBias,
  strides,
  tokens,
  wave,
  width,
  type Step,
  type Workload,
} from './workloads.ts';

export async function jaxJs(workload: Workload): Promise<Step> {
  const { blockUntilReady, defaultDevice, init, jit, lax, nn, numpy: np, tree, valueAndGrad } = await import('@jax-js/jax');
  await init('webgpu');
  defaultDevice('webgpu');
  type A = InstanceType<typeof np.Array>;
  const put = (data: Float32Array, shape: readonly number[]): A => np.array(data as never, { shape: [...shape] } as never);
  /** Reads the fourth element of an array that lives on. */
  const readOne = async (x: A): Promise<number> => {
    const last = (await (x.ref.slice(0, [0, 4]) as A).data())[3];
    return last as number;
  };
  const norm = (x: A): A => {
    const centred = x.ref.sub(np.mean(x, -1, { keepdims: true }));
    return centred.ref.div(np.sqrt(np.mean(np.square(centred), -1, { keepdims: true }).add(1e-5)));
  };
  const block = (x: A, qkv: A, out: A, up: A, down: A): A => {
    const mixed = np
      .matmul(norm(x.ref), qkv)
      .reshape([tokens, 3, heads, width / heads])
      .transpose([1, 2, 0, 3]);
    const q = mixed.ref.slice(0) as A;
    const k = mixed.ref.slice(1) as A;
    const v = mixed.slice(2) as A;
    const scores = np.matmul(q, k.transpose([0, 2, 1])).mul(1 / Math.sqrt(width / heads));
    const attended = np.matmul(nn.softmax(scores, -1), v).transpose([1, 0, 2]).reshape([tokens, width]);
    const h = x.add(np.matmul(attended, out));
    return h.ref.add(np.matmul(nn.gelu(np.matmul(norm(h), up)), down));
  };
  const blockWeights = (): [A, A, A, A] => [
    put(wave(width * 3 * width, 0.05), [width, 3 * width]),
    put(wave(width * width, 0.05), [width, width]),
    put(wave(width * 4 * width, 0.05), [width, 4 * width]),
    put(wave(4 * width * width, 0.05), [4 * width, width]),
  ];
  switch (workload) {
    case 'a': {
      type Layer = { w: A; b: A };
      const forward = (layers: Layer[], x: A): A =>
        layers.reduce((h, { w, b }, i) => (i < 2 ? nn.relu(np.matmul(h, w).add(b)) : np.matmul(h, w).add(b)), x);
      const loss = (layers: Layer[], x: A, y: A): A => nn.logSoftmax(forward(layers, x)).mul(y).sum(1).mean().neg();
      const step = jit((layers: Layer[], momentum: Layer[], x: A, y: A): never => {
        const [value, gradient] = (valueAndGrad(loss as never) as unknown as (...args: readonly unknown[]) => [A, Layer[]])(
          tree.ref(layers as never),
          x,
          y,
        );
        const next = tree.map((m: A, g: A) => m.mul(0.9).add(g), momentum as never, gradient as never) as unknown as Layer[];
        return [tree.map((p: A, m: A) => p.sub(m.mul(0.05)), layers as never, tree.ref(next as never) as never), next, value] as never;
      }) as unknown as (...args: readonly unknown[]) => [Layer[], Layer[], A];
      let layers: Layer[] = sizes.slice(1).map((n, i) => ({ w: put(wave(sizes[i]! * n, 0.05, i), [sizes[i]!, n]), b: np.zeros([n]) }));
      let momentum: Layer[] = sizes.slice(1).map((n, i) => ({ w: np.zeros([sizes[i]!, n]), b: np.zeros([n]) }));
      const x = put(wave(batch * 784, 0.5), [batch, 784]);
      const y = put(labelsOf(batch), [batch, 10]);
      return async () => {
        const [nextLayers, nextMomentum, value] = step(layers, momentum, x.ref, y.ref);
        [layers, momentum] = [nextLayers, nextMomentum];
        await blockUntilReady(layers as never);
        return (await value.data())[0] as number;
      };
    }
    case 'b': {
      const step = jit((p: A, m: A, v: A, g: A) => {
        const m2 = m.mul(0.9).add(g.ref.mul(0.1));
        const v2 = v.mul(0.999).add(g.ref.mul(g).mul(0.001));
        return [p.ref.sub(m2.ref.div(np.sqrt(v2.ref).add(1e-8)).add(p.mul(0.01)).mul(0.001)), m2, v2] as [A, A, A];
      });
      const n = 2048;
      let [p, m, v] = [put(wave(n * n, 1), [n, n]), np.zeros([n, n]), np.zeros([n, n])];
      const g = put(wave(n * n, 0.1, 1), [n, n]);
      return async () => {
        [p, m, v] = step(p, m, v, g.ref);
        await blockUntilReady([p, m, v] as never);
        return readOne(p);
      };
    }
    case 'c': {
      const forward = jit(block);
      const x = put(wave(tokens * width, 1), [tokens, width]);
      const weights = blockWeights();
      return async () => {
        const y = forward(x.ref, weights[0].ref, weights[1].ref, weights[2].ref, weights[3].ref);
        const value = await readOne(y);
        y.dispose();
        return value;
      };
    }
    case 'd': {
      const step = jit((x: A) => x.ref.add(np.reciprocal(x)).mul(0.5));
      return async () => {
        let x = put(
          wave(1024 * 1024, 0.4).map((value) => value + 1),
          [1024, 1024],
        );
        for (let i = 0; i < 50; i++) x = step(x);
        const value = await readOne(x);
        x.dispose();
        return value;
      };
    }
    case 'e': {
      const step = jit((mean: A, x: A, n: A) => mean.ref.add(x.sub(mean).div(n)));
      const data = wave(1024 * 1024, 1);
      return async () => {
        let mean = np.zeros([1024, 1024]);
        for (let i = 1; i <= 20; i++) mean = step(mean, put(data, [1024, 1024]), np.array(i));
        const value = await readOne(mean);
        mean.dispose();
        return value;
      };
    }
    case 'f': {
      type Weights = A[];
      const loss = (weights: Weights, x: A, target: A): A => {
        const [qkv, out, up, down] = weights as [A, A, A, A];
        return np.square(block(x, qkv, out, up, down).sub(target)).mean();
      };
      const step = jit((weights: Weights, first: Weights, second: Weights, x: A, target: A): never => {
        const [value, gradient] = (valueAndGrad(loss as never) as unknown as (...args: readonly unknown[]) => [A, Weights])(
          tree.ref(weights as never),
          x,
          target,
        );
        const m2 = gradient.map((g, i) => first[i]!.mul(0.9).add(g.ref.mul(0.1)));
        const v2 = gradient.map((g, i) => second[i]!.mul(0.999).add(g.ref.mul(g).mul(0.001)));
        const next = weights.map((p, i) => p.ref.sub(m2[i]!.ref.div(np.sqrt(v2[i]!.ref).add(1e-8)).add(p.mul(0.01)).mul(0.001)));
        return [next, m2, v2, value] as never;
      }) as unknown as (...args: readonly unknown[]) => [Weights, Weights, Weights, A];
      let weights: Weights = blockWeights();
      const zeros = (): Weights => weights.map(({ shape }) => np.zeros(shape));
      let [first, second] = [zeros(), zeros()];
      const x = put(wave(tokens * width, 1), [tokens, width]);
      const target = put(wave(tokens * width, 1, 2), [tokens, width]);
      return async () => {
        const [nextWeights, nextFirst, nextSecond, value] = step(weights, first, second, x.ref, target.ref);
        [weights, first, second] = [nextWeights, nextFirst, nextSecond];
        await blockUntilReady(weights as never);
        return (await value.data())[0] as number;
      };
    }
    case 'g': {
      type Layer = { w: A; b: A };
      const border: [number, number][] = [
        [1, 1],
        [1, 1],
      ];
      const logits = (layers: Layer[], x: A): A => {
        const features = layers
          .slice(0, 3)
          .reduce(
            (h, { w, b }, i) => nn.relu(lax.convGeneralDilated(h, w, [strides[i]!, strides[i]!], border).add(b.reshape([b.size, 1, 1]))),
            x,
          );
        return np.matmul(np.mean(features, [2, 3]), layers[3]!.w).add(layers[3]!.b);
      };
      const loss = (layers: Layer[], x: A, y: A): A => nn.logSoftmax(logits(layers, x)).mul(y).sum(1).mean().neg();
      const step = jit((layers: Layer[], momentum: Layer[], x: A, y: A): never => {
        const [value, gradient] = (valueAndGrad(loss as never) as unknown as (...args: readonly unknown[]) => [A, Layer[]])(
          tree.ref(layers as never),
          x,
          y,
        );
        const next = tree.map((m: A, g: A) => m.mul(0.9).add(g), momentum as never, gradient as never) as unknown as Layer[];
        return [tree.map((p: A, m: A) => p.sub(m.mul(0.05)), layers as never, tree.ref(next as never) as never), next, value] as never;
      }) as unknown as (...args: readonly unknown[]) => [Layer[], Layer[], A];
      const shapes = [...kernels, [64, 10]] as readonly (readonly number[])[];
      const countOf = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);
      const biases = [16, 32, 64, 10];
      let layers: Layer[] = shapes.map((shape, i) => ({
        w: put(wave(countOf(shape), 0.2, i), shape),
        b: np.full([biases[i]!], startBias),
      }));
      let momentum: Layer[] = shapes.map((shape, i) => ({ w: np.zeros([...shape]), b: np.zeros([biases[i]!]) }));
      const x = put(digits(), [digitsInBatch, 1, 28, 28]);
      const y = put(labelsOf(digitsInBatch), [digitsInBatch, 10]);
      return async () => {
        const [nextLayers, nextMomentum, value] = step(layers, momentum, x.ref, y.ref);
        [layers, momentum] = [nextLayers, nextMomentum];
        await blockUntilReady(layers as never);
        return (await value.data())[0] as number;
      };
    }
    case 'h': {
      const attention = jit((q: A, k: A, v: A) => np.matmul(nn.softmax(np.matmul(q, k.transpose([0, 2, 1])).mul(1 / 8), -1), v));
      const [q, k, v] = [0, 1, 2].map((i) => put(wave(4 * attended * 64, 1, i), [4, attended, 64]));
      return async () => {
        const y = attention(q!.ref, k!.ref, v!.ref);
        const last = (await (y.slice(0, 0, [0, 4]) as A).data())[3];
        return last as number;
      };
    }
  }
}
