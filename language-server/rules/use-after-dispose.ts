import type { Observation } from '../flow/facts.ts';
import type { Cases, Finding, Note, Rule } from './rule.ts';
import { called, was } from './words.ts';

type DeadUse = Extract<Observation, { kind: 'deadUse' }>;

export const rule: Rule = {
  id: 'use-after-dispose',
  severity: 'error',
  summary: 'An array is used after it was freed.',
  docs: `
An array is used after it was disposed, after the \`tidy\` or \`scope\` that it was made in ended, after its \`using\`
declaration left its block, or, for a GPU buffer, submitted after \`destroy\`. The use throws. Move the dispose after the last
use; return the array from the scope that makes it; copy what must outlive a \`using\` block.`,
  *check({ observations }) {
    for (const seen of observations) {
      if (
        seen.kind !== 'deadUse' ||
        (seen.death !== 'disposed' && seen.death !== 'scope' && seen.death !== 'using') ||
        seen.use === 'dispose'
      )
        continue;
      yield finding(seen);
    }
  },
};

function finding(seen: DeadUse): Finding {
  const { array, certain, death, diedAt } = seen;
  const how =
    death === 'scope'
      ? `freed when its \`${array.words.scope ?? 'scope'}\` ended`
      : death === 'using'
        ? 'freed at the end of its `using` block'
        : array.words.free === 'destroy'
          ? 'destroyed'
          : 'disposed';
  const note: Note = {
    span: diedAt,
    text:
      death === 'scope'
        ? 'the scope that frees it'
        : death === 'using'
          ? 'declared here'
          : `${array.words.free === 'destroy' ? 'destroyed' : 'disposed'} here`,
  };
  return {
    span: seen.span,
    message: `${called(array)} ${was(certain)} ${how}, and is ${seen.use === 'return' ? 'returned' : 'used'} here`,
    notes: seen.inLoop ? [] : [note],
    intents:
      death === 'disposed' && certain && !seen.inLoop && diedAt.start < seen.span.start && diedAt.file === seen.span.file
        ? [{ kind: 'moveDispose', title: 'Move the dispose after this use', safe: false, dispose: diedAt, after: seen.span }]
        : [],
  };
}

export const cases: Cases = {
  bad: [
    `
  import { np } from 'tidemark';
  export function run(): np.Array {
    const x = np.ones([4]);
    x.dispose();
    return x.sum();
  //       ^^^^^^^ error: \`x\` was disposed, and is used here
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  export function run(): Float32Array {
    let mean: tf.Tensor | undefined;
    tf.tidy(() => {
      mean = tf.ones([4]).mean();
    });
    return mean!.dataSync() as Float32Array;
  //       ^^^^^^^^^^^^^^^^ error: \`mean\` was freed when its \`tidy\` ended, and is used here
  }`,
    `
  import { np } from 'tidemark';
  export async function run(): Promise<number> {
    let best: np.Array;
    {
      using candidate = np.ones([]);
      best = candidate;
    }
    return best.item();
  //       ^^^^^^^^^^^ error: \`candidate\` was freed at the end of its \`using\` block, and is used here
  }`,
  ],
  good: [
    `
  import { np } from 'tidemark';
  export async function run(): Promise<number> {
    const x = np.ones([4]);
    using total = x.sum();
    x.dispose();
    return (await total.item()) + x.size;
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  export function first(x: tf.Tensor): Promise<number> {
    return new Promise(async (resolve) => {
      const y = x.square();
      const [value] = await y.data();
      x.dispose();
      y.dispose();
      resolve(value!);
    });
  }
  class Net {
    private readonly model = tf.sequential();
    async train(batch: { readonly x: tf.Tensor; readonly y: tf.Tensor }): Promise<void> {
      await this.model.fit(batch.x, batch.y);
      batch.x.dispose();
      batch.y.dispose();
    }
  }
  export async function train(values: number[]): Promise<void> {
    await new Net().train({ x: tf.tensor1d(values), y: tf.tensor1d(values) });
  }`,
  ],
};
