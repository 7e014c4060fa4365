import type { Observation } from '../flow/facts.ts';
import { isDisposedAgain } from '../flow/proofs.ts';
import type { Cases, Finding, Rule, RuleContext } from './rule.ts';
import { called, was } from './words.ts';

export const rule: Rule = {
  id: 'double-donate',
  severity: 'error',
  summary: 'One buffer is given away twice.',
  docs: `
One buffer appears twice among the arguments of a call that donates it: donated twice, or donated and read. That can't be
done, and the call throws before it runs anything; copy one of them. In a library whose operations consume, an array that
was consumed or disposed by one owner is disposed again by another; remove the second dispose.`,
  *check(context) {
    for (const seen of context.observations) {
      if (seen.kind === 'sameBufferTwice') yield twice(seen);
      else if (seen.kind === 'deadUse' && seen.use === 'dispose') yield again(seen, context);
    }
  },
};

function twice(seen: Extract<Observation, { kind: 'sameBufferTwice' }>): Finding {
  const [first, second] = seen.paths;
  const what = seen.both ? 'donated twice by one call' : 'donated and read by one call';
  return {
    span: seen.span,
    message: `${called(seen.array)} ${seen.certain ? 'is' : 'may be'} ${what}: as \`${first}\` and as \`${second}\` it is one buffer`,
    notes: [
      ...(seen.first.start === seen.second.start ? [] : [{ span: seen.first, text: 'and here' }]),
      ...(seen.array.made === undefined ? [] : [{ span: seen.array.made, text: 'made here' }]),
    ],
    intents:
      seen.first.start === seen.second.start || seen.array.words.copy === undefined
        ? []
        : [{ kind: 'copyBefore', title: 'Pass a copy', safe: false, use: seen.second, verb: seen.array.words.copy }],
  };
}

function again(seen: Extract<Observation, { kind: 'deadUse' }>, { project }: RuleContext): Finding {
  const fn = project.function(seen.function);
  const safe = fn !== undefined && isDisposedAgain(fn, seen.diedAt, seen.span);
  const before = seen.death === 'disposed' ? 'disposed' : seen.death === 'donated' ? 'donated' : 'consumed';
  return {
    span: seen.span,
    message: `${called(seen.array)} ${was(seen.certain)} ${before} already, and is disposed here again`,
    notes: [{ span: seen.diedAt, text: `${before} here` }],
    intents: seen.certain ? [{ kind: 'removeStatement', title: 'Remove the second dispose', safe, statement: seen.span }] : [],
  };
}

export const cases: Cases = {
  bad: [
    `
  import { jit, np } from 'tidemark';
  const mix = jit((a: np.Array, b: np.Array) => [a.add(b), a.sub(b)] as const, { donateArgnums: [0, 1] });
  export function run(): readonly [np.Array, np.Array] {
    const left = np.ones([4]);
    const right = left;
    return mix(left, right);
  //                 ^^^^^ error: \`left\` is donated twice by one call: as \`left\` and as \`left\` it is one buffer
  }`,
    `
  import { numpy as np } from '@jax-js/jax';
  export function run(): number[] {
    const x = np.ones([4]);
    const values = x.js() as number[];
    x.dispose();
  //^^^^^^^^^^^ error: \`x\` was consumed already, and is disposed here again
    return values;
  }`,
  ],
  good: [
    `
  import { jit, np } from 'tidemark';
  const mix = jit((a: np.Array, b: np.Array) => [a.add(b), a.sub(b)] as const, { donateArgnums: [0, 1] });
  export function run(): readonly [np.Array, np.Array] {
    const left = np.ones([4]);
    return mix(left, left.copy());
  }`,
  ],
};
