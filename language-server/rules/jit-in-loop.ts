import type { Cases, Rule } from './rule.ts';

export const rule: Rule = {
  id: 'jit-in-loop',
  severity: 'warning',
  summary: 'A function is compiled anew every time.',
  docs: `
Every \`jit(…)\` makes a new compiled function with a cache of its own. Made in a loop, or in a function that runs in one, it
traces and compiles each time, and each program stays in memory. Make it once: at module level, in a factory that returns it,
or in a field or cache by key.`,
  *check({ observations }) {
    for (const seen of observations) {
      if (seen.kind !== 'jitAnew') continue;
      yield {
        span: seen.span,
        message: `\`${seen.name}\` compiles anew ${seen.where === 'loop' ? 'in every round of the loop' : 'with every call of this function, which runs in a loop'}`,
        notes: [],
        intents: [{ kind: 'hoistJit', title: `Move \`${seen.name}\` out`, safe: false, jit: seen.span }],
      };
    }
  },
};

export const cases: Cases = {
  bad: [
    `
  import { jit, np } from 'tidemark';
  export function run(x: np.Array, rounds: number): number {
    let size = 0;
    for (let i = 0; i < rounds; i++) {
      const f = jit((v: np.Array) => v.mul(2));
  //            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ warning: \`jit\` compiles anew in every round of the loop
      using y = f(x);
      size += y.size;
    }
    return size;
  }`,
  ],
  good: [
    `
  import { jit, np } from 'tidemark';
  export function scaler(by: number): (x: np.Array) => np.Array {
    return jit((x: np.Array) => x.mul(by));
  }`,
  ],
};
