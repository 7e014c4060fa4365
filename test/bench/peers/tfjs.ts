/**
 * The workloads in TensorFlow.js on its WebGPU backend: steps in `tidy`, old state disposed. Depends on: workloads, `@tensorflow/tfjs`.
 */
import {
  attended,
  batch,
  channelsLast,
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

export async function tfjs(workload: Workload): Promise<Step> {
  const tf = await import('@tensorflow/tfjs');
  await import('@tensorflow/tfjs-backend-webgpu');
  await tf.setBackend('webgpu');
  await tf.ready();
  type T = import('@tensorflow/tfjs').Tensor;
  const readOne = async (x: T): Promise<number> => {
    const corner = tf.tidy(() => x.slice([0, 0], [1, 4]));
    const last = (await corner.data())[3];
    corner.dispose();
    return last!;
  };
  const norm = (x: T): T => {
    const centred = x.sub(x.mean(-1, true));
    return centred.div(centred.square().mean(-1, true).add(1e-5).sqrt());
  };
  const block = (x: T, qkv: T, out: T, up: T, down: T): T => {
    const mixed = norm(x)
      .matMul(qkv)
      .reshape([tokens, 3, heads, width / heads])
      .transpose([1, 2, 0, 3]);
    const [q, k, v] = tf.unstack(mixed);
    const scores = q!.matMul(k!, false, true).mul(1 / Math.sqrt(width / heads));
    const attended = scores.softmax(-1).matMul(v!).transpose([1, 0, 2]).reshape([tokens, width]);
    const h = x.add(attended.matMul(out));
    const wide = norm(h).matMul(up);
    const gelu = wide.mul(0.5).mul(wide.div(Math.SQRT2).erf().add(1));
    return h.add(gelu.matMul(down));
  };
  const blockWeights = (): T[] => [
    tf.tensor(wave(width * 3 * width, 0.05), [width, 3 * width]),
    tf.tensor(wave(width * width, 0.05), [width, width]),
    tf.tensor(wave(width * 4 * width, 0.05), [width, 4 * width]),
    tf.tensor(wave(4 * width * width, 0.05), [4 * width, width]),
  ];
  switch (workload) {
    case 'a': {
      const layers = sizes
        .slice(1)
        .map((n, i) => ({ w: tf.variable(tf.tensor(wave(sizes[i]! * n, 0.05, i), [sizes[i]!, n])), b: tf.variable(tf.zeros([n])) }));
      const x = tf.tensor(wave(batch * 784, 0.5), [batch, 784]);
      const y = tf.tensor(labelsOf(batch), [batch, 10]);
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
      const x = tf.tensor(wave(tokens * width, 1), [tokens, width]);
      const [qkv, out, up, down] = blockWeights();
      return async () => {
        const y = tf.tidy(() => block(x, qkv!, out!, up!, down!));
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
    case 'f': {
      const weights = blockWeights().map((weight) => tf.variable(weight));
      const zeros = (): ReturnType<typeof tf.variable>[] => weights.map(({ shape }) => tf.variable(tf.zeros(shape)));
      const [first, second] = [zeros(), zeros()];
      const x = tf.tensor(wave(tokens * width, 1), [tokens, width]);
      const target = tf.tensor(wave(tokens * width, 1, 2), [tokens, width]);
      return async () => {
        const value = tf.tidy((): T => {
          const found = tf.variableGrads(
            () => block(x, weights[0]!, weights[1]!, weights[2]!, weights[3]!).sub(target).square().mean() as never,
            weights,
          );
          weights.forEach((p, i) => {
            const g = found.grads[p.name]!;
            const m2 = first[i]!.mul(0.9).add(g.mul(0.1));
            const v2 = second[i]!.mul(0.999).add(g.mul(g).mul(0.001));
            p.assign(p.sub(m2.div(v2.sqrt().add(1e-8)).add(p.mul(0.01)).mul(0.001)));
            first[i]!.assign(m2);
            second[i]!.assign(v2);
          });
          return found.value;
        });
        const [number] = await value.data();
        value.dispose();
        return number!;
      };
    }
    case 'g': {
      const biases = [16, 32, 64];
      const layers = kernels.map((shape, i) => {
        const kernel = channelsLast(wave(shape[0] * shape[1] * 9, 0.2, i), shape);
        return { w: tf.variable(tf.tensor(kernel, [3, 3, shape[1], shape[0]])), b: tf.variable(tf.fill([biases[i]!], startBias)) };
      });
      const [w, b] = [tf.variable(tf.tensor(wave(640, 0.2, 3), [64, 10])), tf.variable(tf.fill([10], startBias))];
      const x = tf.tensor(digits(), [digitsInBatch, 28, 28, 1]) as import('@tensorflow/tfjs').Tensor4D;
      const y = tf.tensor(labelsOf(digitsInBatch), [digitsInBatch, 10]);
      const optimizer = tf.train.momentum(0.05, 0.9);
      return async () => {
        const value = tf.tidy(
          (): T =>
            optimizer.minimize(
              () =>
                layers
                  .reduce(
                    (h, layer, i) =>
                      tf
                        .conv2d(h, layer.w as never, strides[i]!, 1)
                        .add(layer.b)
                        .relu(),
                    x,
                  )
                  .mean([1, 2])
                  .matMul(w)
                  .add(b)
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
    case 'h': {
      const [q, k, v] = [0, 1, 2].map((i) => tf.tensor(wave(4 * attended * 64, 1, i), [4, attended, 64]));
      return async () => {
        const y = tf.tidy(() =>
          q!
            .matMul(k!, false, true)
            .mul(1 / 8)
            .softmax(-1)
            .matMul(v!),
        );
        const corner = tf.tidy(() => y.slice([0, 0, 0], [1, 1, 4]));
        const last = (await corner.data())[3];
        corner.dispose();
        y.dispose();
        return last!;
      };
    }
  }
}
