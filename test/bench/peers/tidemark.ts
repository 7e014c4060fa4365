/**
 * The workloads in tidemark: state is donated where a step replaces it. Depends on: runtime, workloads.
 */
import type * as Tidemark from '../../../runtime/index.ts';
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

/** `runtime` is what the package's main entry exports. */
export async function tidemark(workload: Workload, runtime: typeof Tidemark): Promise<Step> {
  const { devicePut, init, jit, lax, nn, np, tree, valueAndGrad } = runtime;
  await init('webgpu');
  type A = InstanceType<typeof np.Array>;
  const put = (data: Float32Array, shape: readonly number[]): A => devicePut(data, { shape });
  const norm = (x: A): A => {
    const centred = x.sub(x.mean(-1, true));
    return centred.div(np.sqrt(centred.mul(centred).mean(-1, true).add(1e-5)));
  };
  const block = (x: A, qkv: A, out: A, up: A, down: A): A => {
    const mixed = norm(x)
      .matmul(qkv)
      .reshape([tokens, 3, heads, width / heads])
      .transpose([1, 2, 0, 3]);
    const [q, k, v] = [0, 1, 2].map((i) => mixed.slice(i));
    const scores = q!.matmul(k!.transpose([0, 2, 1])).mul(1 / Math.sqrt(width / heads));
    const attended = nn.softmax(scores, -1).matmul(v!).transpose([1, 0, 2]).reshape([tokens, width]);
    const h = x.add(attended.matmul(out));
    return h.add(nn.gelu(norm(h).matmul(up)).matmul(down));
  };
  const blockWeights = (): readonly [A, A, A, A] => [
    put(wave(width * 3 * width, 0.05), [width, 3 * width]),
    put(wave(width * width, 0.05), [width, width]),
    put(wave(width * 4 * width, 0.05), [width, 4 * width]),
    put(wave(4 * width * width, 0.05), [4 * width, width]),
  ];
  switch (workload) {
    case 'a': {
      interface Layer {
        readonly w: A;
        readonly b: A;
      }
      const forward = (layers: readonly Layer[], x: A): A =>
        layers.reduce((h, { w, b }, i) => (i < 2 ? nn.relu(h.matmul(w).add(b)) : h.matmul(w).add(b)), x);
      const loss = (layers: readonly Layer[], x: A, y: A): A => nn.logSoftmax(forward(layers, x)).mul(y).sum(1).mean().neg();
      const step = jit(
        (layers: readonly Layer[], momentum: readonly Layer[], x: A, y: A): [readonly Layer[], readonly Layer[], A] => {
          const [value, gradient] = valueAndGrad(loss)(layers, x, y);
          const next = tree.map((m: A, g: A) => m.mul(0.9).add(g), momentum, gradient as readonly Layer[]);
          return [tree.map((p: A, m: A) => p.sub(m.mul(0.05)), layers, next), next, value];
        },
        { donateArgnums: [0, 1] },
      );
      let layers: readonly Layer[] = sizes
        .slice(1)
        .map((n, i) => ({ w: put(wave(sizes[i]! * n, 0.05, i), [sizes[i]!, n]), b: put(new Float32Array(n), [n]) }));
      let momentum: readonly Layer[] = sizes
        .slice(1)
        .map((n, i) => ({ w: put(new Float32Array(sizes[i]! * n), [sizes[i]!, n]), b: put(new Float32Array(n), [n]) }));
      const x = put(wave(batch * 784, 0.5), [batch, 784]);
      const y = put(labelsOf(batch), [batch, 10]);
      return async () => {
        const [nextLayers, nextMomentum, value] = step(layers, momentum, x, y);
        [layers, momentum] = [nextLayers, nextMomentum];
        const number = await value.item();
        value.dispose();
        return number;
      };
    }
    case 'b': {
      const step = jit(
        (p: A, m: A, v: A, g: A): [A, A, A] => {
          const m2 = m.mul(0.9).add(g.mul(0.1));
          const v2 = v.mul(0.999).add(g.mul(g).mul(0.001));
          return [p.sub(m2.div(np.sqrt(v2).add(1e-8)).add(p.mul(0.01)).mul(0.001)), m2, v2];
        },
        { donateArgnums: [0, 1, 2] },
      );
      const n = 2048;
      let [p, m, v] = [put(wave(n * n, 1), [n, n]), np.zeros([n, n]), np.zeros([n, n])];
      const g = put(wave(n * n, 0.1, 1), [n, n]);
      return async () => {
        [p, m, v] = step(p, m, v, g);
        return readOne(p);
      };
    }
    case 'c': {
      const forward = jit(block);
      const x = put(wave(tokens * width, 1), [tokens, width]);
      const weights = blockWeights();
      return async () => {
        const y = forward(x, ...weights);
        const value = await readOne(y);
        y.dispose();
        return value;
      };
    }
    case 'd': {
      const step = jit((x: A): A => x.add(np.reciprocal(x)).mul(0.5), { donateArgnums: [0] });
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
      const step = jit((mean: A, x: A, n: A): A => mean.add(x.sub(mean).div(n)), { donateArgnums: [0] });
      const data = wave(1024 * 1024, 1);
      return async () => {
        let mean = np.zeros([1024, 1024]);
        for (let i = 1; i <= 20; i++) {
          const x = put(data, [1024, 1024]);
          const n = np.array(i, 'float32');
          mean = step(mean, x, n);
          x.dispose();
          n.dispose();
        }
        const value = await readOne(mean);
        mean.dispose();
        return value;
      };
    }
    case 'f': {
      type Weights = readonly A[];
      const loss = (weights: Weights, x: A, target: A): A => {
        const [qkv, out, up, down] = weights as [A, A, A, A];
        return np.square(block(x, qkv, out, up, down).sub(target)).mean();
      };
      const step = jit(
        (weights: Weights, first: Weights, second: Weights, x: A, target: A): [Weights, Weights, Weights, A] => {
          const [value, gradient] = valueAndGrad(loss)(weights, x, target);
          const m2 = tree.map((m: A, g: A) => m.mul(0.9).add(g.mul(0.1)), first, gradient as Weights);
          const v2 = tree.map((v: A, g: A) => v.mul(0.999).add(g.mul(g).mul(0.001)), second, gradient as Weights);
          const next = tree.map((p: A, m: A, v: A) => p.sub(m.div(np.sqrt(v).add(1e-8)).add(p.mul(0.01)).mul(0.001)), weights, m2, v2);
          return [next, m2, v2, value];
        },
        { donateArgnums: [0, 1, 2] },
      );
      const zeros = (): Weights => weights.map(({ shape }) => np.zeros(shape as number[]));
      let weights: Weights = blockWeights();
      let [first, second] = [zeros(), zeros()];
      const x = put(wave(tokens * width, 1), [tokens, width]);
      const target = put(wave(tokens * width, 1, 2), [tokens, width]);
      return async () => {
        const [nextWeights, nextFirst, nextSecond, value] = step(weights, first, second, x, target);
        [weights, first, second] = [nextWeights, nextFirst, nextSecond];
        const number = await value.item();
        value.dispose();
        return number;
      };
    }
    case 'g': {
      interface Layer {
        readonly w: A;
        readonly b: A;
      }
      const border = [
        [1, 1],
        [1, 1],
      ] as const;
      const logits = (layers: readonly Layer[], x: A): A => {
        const features = layers
          .slice(0, 3)
          .reduce((h, { w, b }, i) => nn.relu(lax.conv(h, w, [strides[i]!, strides[i]!], border).add(b.reshape([b.size, 1, 1]))), x);
        return features.mean([2, 3]).matmul(layers[3]!.w).add(layers[3]!.b);
      };
      const loss = (layers: readonly Layer[], x: A, y: A): A => nn.logSoftmax(logits(layers, x)).mul(y).sum(1).mean().neg();
      const step = jit(
        (layers: readonly Layer[], momentum: readonly Layer[], x: A, y: A): [readonly Layer[], readonly Layer[], A] => {
          const [value, gradient] = valueAndGrad(loss)(layers, x, y);
          const next = tree.map((m: A, g: A) => m.mul(0.9).add(g), momentum, gradient as readonly Layer[]);
          return [tree.map((p: A, m: A) => p.sub(m.mul(0.05)), layers, next), next, value];
        },
        { donateArgnums: [0, 1] },
      );
      const shapes = [...kernels, [64, 10]] as readonly (readonly number[])[];
      const countOf = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);
      const biases = [16, 32, 64, 10];
      let layers: readonly Layer[] = shapes.map((shape, i) => ({
        w: put(wave(countOf(shape), 0.2, i), shape),
        b: np.full([biases[i]!], startBias),
      }));
      let momentum: readonly Layer[] = shapes.map((shape, i) => ({ w: np.zeros([...shape]), b: np.zeros([biases[i]!]) }));
      const x = put(digits(), [digitsInBatch, 1, 28, 28]);
      const y = put(labelsOf(digitsInBatch), [digitsInBatch, 10]);
      return async () => {
        const [nextLayers, nextMomentum, value] = step(layers, momentum, x, y);
        [layers, momentum] = [nextLayers, nextMomentum];
        const number = await value.item();
        value.dispose();
        return number;
      };
    }
    case 'h': {
      const attention = jit((q: A, k: A, v: A): A => nn.softmax(q.matmul(k.transpose([0, 2, 1])).mul(1 / 8), -1).matmul(v));
      const [q, k, v] = [0, 1, 2].map((i) => put(wave(4 * attended * 64, 1, i), [4, attended, 64]));
      return async () => {
        const y = attention(q!, k!, v!);
        const corner = y.slice(0, 0, [0, 4]);
        const last = (await corner.data())[3];
        corner.dispose();
        y.dispose();
        return last!;
      };
    }
  }
  async function readOne(x: A): Promise<number> {
    const corner = x.slice(0, [0, 4]);
    const last = (await corner.data())[3];
    corner.dispose();
    return last!;
  }
}
