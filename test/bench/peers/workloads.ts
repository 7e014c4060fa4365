/**
 * The same work for each library, written as its own documentation would: (a) an MLP's step, (b) AdamW, (c) a transformer
 * block, (d) iterated elementwise steps, (e) a running mean.
 *
 * A workload prepares its state and gives a step; the step resolves when its result was read (four numbers at most).
 * Depends on: runtime, the libraries.
 */
export type Step = () => Promise<number>;
export type Workload = 'a' | 'b' | 'c' | 'd' | 'e';
export type Library = 'tidemark' | 'jax-js' | 'tfjs';

export const titles: Readonly<Record<Workload, string>> = {
  a: 'MLP 784-512-512-10, batch 128, SGD with momentum',
  b: 'AdamW on 2048x2048',
  c: 'transformer block forward, 128x256, 4 heads',
  d: '50 x (x = (x + 1/x) / 2) on 1024x1024',
  e: 'running mean of 20 arrays of 1024x1024',
};

const sizes = [784, 512, 512, 10];
const batch = 128;
const wave = (count: number, scale: number, shift = 0): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37 + shift) * scale);
const labelsOf = (): Float32Array => Float32Array.from({ length: batch * 10 }, (_, i) => (i % 10 === Math.floor(i / 10) % 10 ? 1 : 0));

export async function tidemark(workload: Workload): Promise<Step> {
  const { devicePut, init, jit, nn, np, tree, valueAndGrad } = await import('../../../runtime/index.ts');
  await init('webgpu');
  type A = InstanceType<typeof np.Array>;
  const put = (data: Float32Array, shape: readonly number[]): A => devicePut(data, { shape });
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
      const y = put(labelsOf(), [batch, 10]);
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
      const [length, width, heads] = [128, 256, 4];
      const norm = (x: A): A => {
        const centred = x.sub(x.mean(-1, true));
        return centred.div(np.sqrt(centred.mul(centred).mean(-1, true).add(1e-5)));
      };
      const block = jit((x: A, qkv: A, out: A, up: A, down: A): A => {
        const mixed = norm(x)
          .matmul(qkv)
          .reshape([length, 3, heads, width / heads])
          .transpose([1, 2, 0, 3]);
        const [q, k, v] = [0, 1, 2].map((i) => mixed.slice(i));
        const scores = q!.matmul(k!.transpose([0, 2, 1])).mul(1 / Math.sqrt(width / heads));
        const attended = nn.softmax(scores, -1).matmul(v!).transpose([1, 0, 2]).reshape([length, width]);
        const h = x.add(attended.matmul(out));
        return h.add(nn.gelu(norm(h).matmul(up)).matmul(down));
      });
      const x = put(wave(length * width, 1), [length, width]);
      const weights = [
        put(wave(width * 3 * width, 0.05), [width, 3 * width]),
        put(wave(width * width, 0.05), [width, width]),
        put(wave(width * 4 * width, 0.05), [width, 4 * width]),
        put(wave(4 * width * width, 0.05), [4 * width, width]),
      ] as const;
      return async () => {
        const y = block(x, ...weights);
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
  }
  async function readOne(x: A): Promise<number> {
    const corner = x.slice(0, [0, 4]);
    const [first] = await corner.data();
    corner.dispose();
    return first!;
  }
}

export async function jaxJs(workload: Workload): Promise<Step> {
  const { blockUntilReady, defaultDevice, init, jit, nn, numpy: np, tree, valueAndGrad } = await import('@jax-js/jax');
  await init('webgpu');
  defaultDevice('webgpu');
  type A = InstanceType<typeof np.Array>;
  const put = (data: Float32Array, shape: readonly number[]): A => np.array(data as never, { shape: [...shape] } as never);
  /** Reads the first elements of an array that lives on. */
  const readOne = async (x: A): Promise<number> => {
    const [first] = await (x.ref.slice(0, [0, 4]) as A).data();
    return first as number;
  };
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
      const y = put(labelsOf(), [batch, 10]);
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
      const [length, width, heads] = [128, 256, 4];
      const norm = (x: A): A => {
        const centred = x.ref.sub(np.mean(x, -1, { keepdims: true }));
        return centred.ref.div(np.sqrt(np.mean(np.square(centred), -1, { keepdims: true }).add(1e-5)));
      };
      const block = jit((x: A, qkv: A, out: A, up: A, down: A) => {
        const mixed = np
          .matmul(norm(x.ref), qkv)
          .reshape([length, 3, heads, width / heads])
          .transpose([1, 2, 0, 3]);
        const q = mixed.ref.slice(0) as A;
        const k = mixed.ref.slice(1) as A;
        const v = mixed.slice(2) as A;
        const scores = np.matmul(q, k.transpose([0, 2, 1])).mul(1 / Math.sqrt(width / heads));
        const attended = np.matmul(nn.softmax(scores, -1), v).transpose([1, 0, 2]).reshape([length, width]);
        const h = x.add(np.matmul(attended, out));
        return h.ref.add(np.matmul(nn.gelu(np.matmul(norm(h), up)), down));
      });
      const x = put(wave(length * width, 1), [length, width]);
      const weights = [
        put(wave(width * 3 * width, 0.05), [width, 3 * width]),
        put(wave(width * width, 0.05), [width, width]),
        put(wave(width * 4 * width, 0.05), [width, 4 * width]),
        put(wave(4 * width * width, 0.05), [4 * width, width]),
      ] as const;
      return async () => {
        const y = block(x.ref, weights[0].ref, weights[1].ref, weights[2].ref, weights[3].ref);
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
  }
}

export async function tfjs(workload: Workload): Promise<Step> {
  const tf = await import('@tensorflow/tfjs');
  await import('@tensorflow/tfjs-backend-webgpu');
  await tf.setBackend('webgpu');
  await tf.ready();
  type T = import('@tensorflow/tfjs').Tensor;
  const readOne = async (x: T): Promise<number> => {
    const corner = tf.tidy(() => x.slice([0, 0], [1, 4]));
    const [first] = await corner.data();
    corner.dispose();
    return first!;
  };
  switch (workload) {
    case 'a': {
      const layers = sizes
        .slice(1)
        .map((n, i) => ({ w: tf.variable(tf.tensor(wave(sizes[i]! * n, 0.05, i), [sizes[i]!, n])), b: tf.variable(tf.zeros([n])) }));
      const x = tf.tensor(wave(batch * 784, 0.5), [batch, 784]);
      const y = tf.tensor(labelsOf(), [batch, 10]);
      const optimizer = tf.train.momentum(0.05, 0.9);
      return async () => {
        const value = tf.tidy(
          (): T =>
            optimizer.minimize(
              () =>
                layers
                  .reduce<T>((h, { w, b }, i) => (i < 2 ? h.matMul(w).add(b).relu() : h.matMul(w).add(b)), x)
                  .logSoftmax()
                  .mul(y)
                  .sum(1)
                  .mean()
                  .neg() as never,
              true,
            ) as T,
        );
        const [number] = await value.data();
        value.dispose();
        return number!;
      };
    }
    case 'b': {
      const n = 2048;
      let [p, m, v]: [T, T, T] = [tf.tensor(wave(n * n, 1), [n, n]), tf.zeros([n, n]), tf.zeros([n, n])];
      const g = tf.tensor(wave(n * n, 0.1, 1), [n, n]);
      return async () => {
        const next = tf.tidy((): [T, T, T] => {
          const m2 = m.mul(0.9).add(g.mul(0.1));
          const v2 = v.mul(0.999).add(g.mul(g).mul(0.001));
          return [p.sub(m2.div(v2.sqrt().add(1e-8)).add(p.mul(0.01)).mul(0.001)), m2, v2];
        });
        tf.dispose([p, m, v]);
        [p, m, v] = next;
        return readOne(p);
      };
    }
    case 'c': {
      const [length, width, heads] = [128, 256, 4];
      const norm = (x: T): T => {
        const centred = x.sub(x.mean(-1, true));
        return centred.div(centred.square().mean(-1, true).add(1e-5).sqrt());
      };
      const x = tf.tensor(wave(length * width, 1), [length, width]);
      const [qkv, out, up, down] = [
        tf.tensor(wave(width * 3 * width, 0.05), [width, 3 * width]),
        tf.tensor(wave(width * width, 0.05), [width, width]),
        tf.tensor(wave(width * 4 * width, 0.05), [width, 4 * width]),
        tf.tensor(wave(4 * width * width, 0.05), [4 * width, width]),
      ];
      return async () => {
        const y = tf.tidy(() => {
          const mixed = norm(x)
            .matMul(qkv!)
            .reshape([length, 3, heads, width / heads])
            .transpose([1, 2, 0, 3]);
          const [q, k, v] = tf.unstack(mixed);
          const scores = q!.matMul(k!, false, true).mul(1 / Math.sqrt(width / heads));
          const attended = scores.softmax(-1).matMul(v!).transpose([1, 0, 2]).reshape([length, width]);
          const h = x.add(attended.matMul(out!));
          const wide = norm(h).matMul(up!);
          const gelu = wide.mul(0.5).mul(wide.div(Math.SQRT2).erf().add(1));
          return h.add(gelu.matMul(down!));
        });
        const value = await readOne(y);
        y.dispose();
        return value;
      };
    }
    case 'd':
      return async () => {
        let x: T = tf.tensor(
          wave(1024 * 1024, 0.4).map((value) => value + 1),
          [1024, 1024],
        );
        for (let i = 0; i < 50; i++) {
          const next = tf.tidy(() => x.add(x.reciprocal()).mul(0.5));
          x.dispose();
          x = next;
        }
        const value = await readOne(x);
        x.dispose();
        return value;
      };
    case 'e': {
      const data = wave(1024 * 1024, 1);
      return async () => {
        let mean: T = tf.zeros([1024, 1024]);
        for (let i = 1; i <= 20; i++) {
          const next = tf.tidy(() => mean.add(tf.tensor(data, [1024, 1024]).sub(mean).div(i)));
          mean.dispose();
          mean = next;
        }
        const value = await readOne(mean);
        mean.dispose();
        return value;
      };
    }
  }
}
