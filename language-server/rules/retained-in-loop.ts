import type { Cases, Rule } from './rule.ts';

export const rule: Rule = {
  id: 'retained-in-loop',
  severity: 'warning',
  summary: 'A collection gains arrays for ever.',
  docs: `
A collection that outlives the loop, or that belongs to a module or a class, gains device arrays with every round or call and
never loses any: memory grows until the program ends. Keep numbers instead of arrays (\`await x.item()\`), bound the collection
and free what falls out, or empty it when its content has been used.`,
  *check({ observations }) {
    const spans = new Set<number>();
    for (const seen of observations) {
      if (seen.kind !== 'retained' || spans.has(seen.span.start)) continue;
      spans.add(seen.span.start);
      const { noun } = seen.array.words;
      yield {
        span: seen.span,
        message:
          seen.where === 'loop'
            ? `every round adds ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun} to this list, and none is ever freed`
            : `\`${seen.collection}\` gains ${noun}s here and never loses any`,
        notes: [],
        intents: [{ kind: 'readToHost', title: 'Keep the number instead of the array', safe: false, use: seen.span }],
      };
    }
  },
};

export const cases: Cases = {
  bad: [
    `
  import { np } from 'tidemark';
  const history: np.Array[] = [];
  export function step(x: np.Array): void {
    history.push(x.sum());
  //^^^^^^^^^^^^^^^^^^^^^ warning: \`history\` gains arrays here and never loses any
  }`,
  ],
  good: [
    `
  import { np } from 'tidemark';
  const history: np.Array[] = [];
  export function step(x: np.Array): void {
    history.push(x.sum());
    if (history.length > 3) history.shift()?.dispose();
  }`,
  ],
};
