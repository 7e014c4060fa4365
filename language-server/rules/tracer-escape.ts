import type { Cases, Rule } from './rule.ts';
import { called } from './words.ts';

export const rule: Rule = {
  id: 'tracer-escape',
  severity: 'error',
  summary: 'A stand-in of a trace is stored outside the traced function.',
  docs: `
While a function is traced, its arrays are stand-ins that only say what is to be computed. Stored in a module variable, a
field or a collection, such a stand-in is used later as if it held numbers, and throws. Return the value instead.`,
  *check({ observations }) {
    for (const seen of observations) {
      if (seen.kind !== 'tracerStored' || seen.array.words.scope === 'tidy') continue;
      yield {
        span: seen.span,
        message: `${called(seen.array)} belongs to the trace and is stored outside it, in \`${seen.target}\`: later it is no array`,
        notes: [],
        intents: [{ kind: 'returnStored', title: 'Return it, and store it where the function is called', safe: false, store: seen.span }],
      };
    }
  },
};

export const cases: Cases = {
  bad: [
    `
  import { jit, np } from 'tidemark';
  export let last: np.Array | undefined;
  export const f = jit((x: np.Array) => {
    const hidden = np.tanh(x);
    last = hidden;
  //^^^^^^^^^^^^^ error: \`hidden\` belongs to the trace and is stored outside it, in \`last\`: later it is no array
    return hidden.sum();
  });`,
  ],
  good: [
    `
  import { jit, np } from 'tidemark';
  export let traces = 0;
  export const f = jit((x: np.Array) => {
    traces++;
    return x.sum();
  });`,
  ],
};
