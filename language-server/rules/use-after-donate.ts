import type { Observation } from '../flow/facts.ts';
import type { Intent } from '../lower/intent.ts';
import type { Cases, Finding, Rule } from './rule.ts';
import { called, was } from './words.ts';

type DeadUse = Extract<Observation, { kind: 'deadUse' }>;

export const rule: Rule = {
  id: 'use-after-donate',
  severity: 'error',
  summary: 'An array is used after its buffer was donated.',
  docs: `
An array is used after a call that it was donated to. The call may have written over its buffer, so the use throws at run
time, whether or not the donation found an output. Read the array earlier, use what the call returned, leave the argument
out of the donation, or donate a copy. Shape, dtype and \`isDisposed\` stay readable.`,
  *check({ observations }) {
    for (const seen of observations) {
      if (seen.kind !== 'deadUse' || seen.death !== 'donated' || (seen.sameCall && !seen.inLoop)) continue;
      yield finding(seen);
    }
  },
};

function finding(seen: DeadUse): Finding {
  const { array, certain, inLoop } = seen;
  const use = seen.use === 'donate' ? 'donated again' : seen.use === 'return' ? 'returned' : 'used';
  const intents: Intent[] =
    inLoop || array.words.copy === undefined
      ? []
      : [{ kind: 'copyBefore', title: 'Donate a copy', safe: false, use: seen.diedAt, verb: array.words.copy }];
  return {
    span: seen.span,
    message: inLoop
      ? `${called(array)} ${was(certain)} donated by this same call in an earlier round of the loop, and is ${use} here`
      : `${called(array)} ${was(certain)} donated, and is ${use} here`,
    notes: [
      ...(inLoop ? [] : [{ span: seen.diedAt, text: 'donated here' }]),
      ...(array.made === undefined ? [] : [{ span: array.made, text: 'made here' }]),
    ],
    intents: intents.filter(({ kind }) => kind !== 'copyBefore'),
  };
}

export const cases: Cases = {
  bad: [
    `
  import { jit, np } from 'tidemark';
  const step = jit((x: np.Array) => x.mul(2), { donateArgnums: [0] });
  export function run(): np.Array {
    const params = np.ones([4]);
    const next = step(params);
    next.dispose();
    return params.sum();
  //       ^^^^^^^^^^^^ error: \`params\` was donated, and is used here
  }`,
    `
  import { jit, np } from 'tidemark';
  const step = jit((x: np.Array) => x.mul(2), { donateArgnums: [0] });
  export function run(ready: boolean): void {
    const params = np.ones([4]);
    if (ready) step(params).dispose();
    np.sqrt(params).dispose();
  //        ^^^^^^ error: \`params\` may have been donated, and is used here
    params.dispose();
  }`,
    `
  import { donate, jit, np } from 'tidemark';
  const step = jit((x: np.Array) => x.mul(2));
  export function run(rounds: number): void {
    const start = np.ones([4]);
    for (let i = 0; i < rounds; i++) {
      using next = step(donate(start));
  //                    ^^^^^^^^^^^^^ error: \`start\` may have been donated by this same call in an earlier round of the loop, and is donated again here
      void next.shape;
    }
  }`,
  ],
  good: [
    `
  import { jit, np } from 'tidemark';
  const step = jit((x: np.Array) => x.mul(2), { donateArgnums: [0] });
  export function run(rounds: number): np.Array {
    let params = np.ones([4]);
    for (let i = 0; i < rounds; i++) params = step(params);
    return params;
  }`,
    `
  import { jit, np } from 'tidemark';
  const step = jit((x: np.Array) => x.mul(2), { donateArgnums: [0] });
  export function run(): number {
    const params = np.ones([4]);
    using next = step(params);
    return params.size + next.size + (params.isDisposed ? 1 : 0);
  }`,
  ],
};
