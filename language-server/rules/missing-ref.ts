import type { Observation } from '../flow/facts.ts';
import { earlierUse, isCallAt } from '../flow/proofs.ts';
import type { Intent } from '../lower/intent.ts';
import type { Cases, Rule, RuleContext } from './rule.ts';
import { called, was } from './words.ts';

export const rule: Rule = {
  id: 'missing-ref',
  severity: 'error',
  summary: 'An array is used after an operation consumed it.',
  docs: `
Where operations consume their arguments, each use takes a reference. The last use may take the array itself; every use
before it needs a reference of its own: \`x.ref\`. Without it the array is gone when the next use comes: in a second operation,
in the next round of a loop, in the second call of a closure, or twice in one call.`,
  *check(context) {
    for (const seen of context.observations) {
      if (seen.kind !== 'deadUse' || seen.death !== 'consumed' || seen.use === 'dispose') continue;
      const message = seen.inLoop
        ? `${called(seen.array)} ${was(seen.certain)} consumed here in an earlier round, and is used again: pass a reference of its own (\`.ref\`)`
        : seen.sameCall
          ? `${called(seen.array)} is passed twice in one call, which consumes it twice: the first needs \`.ref\``
          : `${called(seen.array)} ${was(seen.certain)} consumed before, and is used here: the earlier use needs \`.ref\``;
      yield {
        span: seen.span,
        message,
        notes: seen.inLoop || seen.sameCall ? [] : [{ span: seen.diedAt, text: 'consumed here' }],
        intents: fixes(seen, context),
      };
    }
  },
};

/** The use that is not the last takes a reference: in a loop the one at hand, else the one before. */
function fixes(seen: Extract<Observation, { kind: 'deadUse' }>, { project }: RuleContext): readonly Intent[] {
  const fn = project.function(seen.function);
  if (fn === undefined || fn.file !== seen.span.file) return [];
  const title = 'Pass a reference (`.ref`)';
  if (seen.inLoop) {
    const receiver = isCallAt(fn, seen.span);
    return [{ kind: 'addRef', title, safe: false, use: seen.span, ...(receiver ? { receiver } : {}) }];
  }
  const earlier = earlierUse(fn, seen.diedAt, seen.span);
  if (earlier === undefined) return [];
  const { span, receiver, straight } = earlier;
  return [{ kind: 'addRef', title, safe: straight && seen.certain, use: span, ...(receiver ? { receiver } : {}) }];
}

export const cases: Cases = {
  bad: [
    `
  import { numpy as np } from '@jax-js/jax';
  export function run(x: np.Array): np.Array {
    const y = np.square(x);
    return y.add(x);
  //             ^ error: \`x\` was consumed before, and is used here: the earlier use needs \`.ref\`
  }`,
  ],
  good: [
    `
  import { numpy as np } from '@jax-js/jax';
  export function run(x: np.Array): np.Array {
    const y = np.square(x.ref);
    return y.add(x);
  }`,
  ],
};
