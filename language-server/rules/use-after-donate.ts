import type { Observation } from '../flow/facts.ts';
import type { Intent } from '../lower/intent.ts';
import type { Cases, Finding, Rule, RuleContext } from './rule.ts';
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
  *check(context) {
    for (const seen of context.observations) {
      if (seen.kind !== 'deadUse' || seen.death !== 'donated' || (seen.sameCall && !seen.inLoop)) continue;
      yield finding(seen, context);
    }
  },
};

function finding(seen: DeadUse, context: RuleContext): Finding {
  const { array, certain, inLoop } = seen;
  const use = seen.use === 'donate' ? 'donated again' : seen.use === 'return' ? 'returned' : 'used';
  return {
    span: seen.span,
    message: inLoop
      ? `${called(array)} ${was(certain)} donated by this same call in an earlier round of the loop, and is ${use} here`
      : `${called(array)} ${was(certain)} donated, and is ${use} here`,
    notes: [
      ...(inLoop ? [] : [{ span: seen.diedAt, text: 'donated here' }]),
      ...(array.made === undefined ? [] : [{ span: array.made, text: 'made here' }]),
    ],
    intents: inLoop ? [] : fixes(seen, context),
  };
}

/** Read it before it is given away; or don't give it away; or give away a copy. */
function fixes(seen: DeadUse, { allCalls }: RuleContext): readonly Intent[] {
  const { array, diedAt, span } = seen;
  const intents: Intent[] = [];
  if (seen.use === 'read' && diedAt.file === span.file && diedAt.end <= span.start)
    intents.push({ kind: 'readEarlier', title: 'Read it before the call', safe: false, use: span, before: diedAt });
  const call = allCalls.find((one) => one.span.file === diedAt.file && one.span.start === diedAt.start && one.span.end === diedAt.end);
  const given = call?.arguments.filter(({ donated, name }) => donated !== undefined && name === array.name) ?? [];
  const [argument] = given;
  if (call === undefined || argument === undefined || given.length !== 1) return intents;
  if (argument.donated === 'mark')
    intents.push({ kind: 'dropDonateMark', title: 'Keep it: drop `donate`', safe: false, argument: argument.span });
  else {
    intents.push({
      kind: 'dropDonation',
      title: `Keep it: drop argument ${argument.position} from the donation`,
      safe: false,
      jit: call.jit,
      position: argument.position,
    });
    if (array.words.copy !== undefined)
      intents.push({ kind: 'copyBefore', title: 'Donate a copy', safe: false, use: argument.span, verb: array.words.copy });
  }
  return intents;
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
