import { writeBytes } from '../../runtime/core/bytes.ts';
import { analysisOf } from '../memory/analysis.ts';
import { crossings, type Crossing } from '../memory/budget.ts';
import type { Cases, Rule } from './rule.ts';

export const rule: Rule = {
  id: 'peak-over-budget',
  severity: 'warning',
  summary: 'The peak is above the memory budget.',
  docs: `
A comment \`// @budget 64MiB\` directly above a function is that function's budget, on line 2 of a file the file's, and the
setting \`tidemark.memoryBudget\` the project's. The finding sits on the statement whose allocation crosses it, and names
what is alive there.`,
  *check(context) {
    for (const crossing of crossings(context.project, analysisOf(context), context.settings.budgetBytes)) {
      if (crossing.span.file !== context.unit.file) continue;
      yield {
        span: crossing.span,
        message: `${writeBytes(crossing.bytes)} are in use here, above the budget of ${writeBytes(crossing.budgetBytes)} of ${crossing.budgetOf}: ${contributors(crossing)}`,
        notes: crossing.contributors.slice(0, 3).map(({ name, made, bytes }) => ({
          span: made,
          text: `${name === undefined ? 'an array' : `\`${name}\``} of ${writeBytes(bytes)}`,
        })),
        intents: [],
      };
    }
  },
};

const contributors = (crossing: Crossing): string =>
  crossing.contributors.map(({ name, bytes }) => `${name === undefined ? 'an array' : `\`${name}\``} ${writeBytes(bytes)}`).join(', ');

export const cases: Cases = {
  bad: [
    `
import { np } from 'tidemark';
// @budget 64MiB
export async function main(): Promise<number> {
  using items = np.ones([6000, 64]);
  using turned = items.transpose();
  using table = np.matmul(items, turned);
  //            ^^^^^^^^^^^^^^^^^^^^^^^^ warning: 140.3 MiB are in use here, above the budget of 64.0 MiB of \`main\`: \`table\` 137.3 MiB, \`items\` 1.5 MiB, \`turned\` 1.5 MiB
  using best = table.max();
  return best.item();
}`,
  ],
  good: [
    `
import { np } from 'tidemark';
// @budget 64MiB
export async function main(): Promise<number> {
  using items = np.ones([600, 64]);
  using turned = items.transpose();
  using table = np.matmul(items, turned);
  using best = table.max();
  return best.item();
}`,
  ],
};
