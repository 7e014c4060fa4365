import type { Cases, Rule } from './rule.ts';

/** The engine knows which comments silenced something; what it finds comes in as findings of this rule. */
export const rule: Rule = {
  id: 'unused-suppression',
  severity: 'warning',
  summary: 'A suppression comment silences nothing.',
  docs: `
A \`// tidemark-ignore rule: reason\` silences that rule on the next line. When the rule finds nothing there any more, the comment
only hides what may come later. Remove it.`,
  *check() {},
};

export const cases: Cases = {
  bad: [
    `
  // tidemark-ignore leak: gone since the rewrite
//^^^ warning: this comment silences nothing: \`leak\` finds nothing on the next line
  export const answer = 42;`,
  ],
  good: [
    `
  import { np } from 'tidemark';
  export function run(): void {
    // tidemark-ignore leak: freed by the page that embeds this
    np.ones([4]);
  }`,
  ],
};
