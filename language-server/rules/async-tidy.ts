import type { Intent } from '../lower/intent.ts';
import { wordsOf } from '../flow/arrays.ts';
import type { Observation } from '../flow/facts.ts';
import type { Cases, Rule } from './rule.ts';

export const rule: Rule = {
  id: 'async-tidy',
  severity: 'error',
  summary: 'A scope ends while asynchronous work still needs what it frees.',
  docs: `
A \`tidy\` ends when its callback returns. A promise that the callback starts or returns goes on afterwards, with arrays that the
\`tidy\` has freed. Compute inside, await outside: return the array from the \`tidy\`, await what reads it, dispose it then. A
\`scope\` may be asynchronous, and lasts until its promise settles; it must be awaited.`,
  *check({ observations }) {
    for (const seen of observations) {
      if (seen.kind !== 'asyncScope') continue;
      const message = {
        async: `the callback of \`${seen.scope}\` is asynchronous, so the scope ends at its first \`await\` and frees what the rest needs`,
        returns: `\`${seen.scope}\` returns a promise that goes on after it has freed its arrays`,
        starts: `work started in this \`${seen.scope}\` goes on after it has freed the arrays that the work needs`,
        notAwaited: `the promise of this \`${seen.scope}\` is dropped: nobody waits for its end`,
      }[seen.how];
      yield { span: seen.span, message, notes: [], intents: [wayOut(seen)] };
    }
  },
};

function wayOut(seen: Extract<Observation, { kind: 'asyncScope' }>): Intent {
  if (seen.how === 'notAwaited') return { kind: 'awaitCall', title: `Await the \`${seen.scope}\``, safe: false, call: seen.span };
  const split = { kind: 'splitScope', safe: false, scope: seen.span, verb: wordsOf(seen.library).free } as const;
  const title = `Compute in the \`${seen.scope}\`, await outside`;
  return seen.how === 'returns' ? { ...split, title } : { ...split, title, disabled: 'what goes on after it has to be moved out by hand' };
}

export const cases: Cases = {
  bad: [
    `
  import * as tf from '@tensorflow/tfjs';
  export function run(model: tf.LayersModel): void {
    tf.tidy(() => {
  //^^^^^^^^^^^^^^^ error: work started in this \`tidy\` goes on after it has freed the arrays that the work needs
      const xs = tf.ones([4, 1]);
      void model.fit(xs, xs);
    });
  }`,
  ],
  good: [
    `
  import * as tf from '@tensorflow/tfjs';
  export async function run(image: tf.Tensor2D): Promise<number> {
    const mean = tf.tidy(() => image.mean());
    const [value] = await mean.data();
    mean.dispose();
    return value!;
  }`,
  ],
};
