import type { Cases, Rule } from './rule.ts';

export const rule: Rule = {
  id: 'owner-without-dispose',
  severity: 'hint',
  summary: 'An exported class keeps arrays and offers no way to free them.',
  docs: `
An exported class makes arrays, keeps them in fields, and has no method that frees or drops them: whoever uses it can't give
the memory back. Add a \`dispose()\` or \`[Symbol.dispose]()\` method.`,
  *check({ observations }) {
    for (const seen of observations) {
      if (seen.kind !== 'ownerWithoutDispose') continue;
      const fields = seen.fields.map((field) => `\`${field}\``).join(', ');
      yield {
        span: seen.span,
        message: `\`${seen.className}\` keeps arrays in ${fields} and has no method that frees them`,
        notes: [],
        intents: [
          { kind: 'addDispose', title: `Add \`${seen.verb}()\``, safe: false, class: seen.span, fields: seen.fields, verb: seen.verb },
        ],
      };
    }
  },
};

export const cases: Cases = {
  bad: [
    `
  import { np } from 'tidemark';
  export class Table {
//^^^^^^^^^^^^^^^^^ hint: \`Table\` keeps arrays in \`rows\` and has no method that frees them
    private readonly rows = np.ones([4]);
    get size(): number {
      return this.rows.size;
    }
  }`,
  ],
  good: [
    `
  import { np } from 'tidemark';
  export class Table {
    private readonly rows = np.ones([4]);
    dispose(): void {
      this.rows.dispose();
    }
  }`,
  ],
};
