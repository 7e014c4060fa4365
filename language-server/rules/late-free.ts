import { writeBytes } from '../../runtime/core/bytes.ts';
import { analysisOf } from '../memory/analysis.ts';
import { lateFrees, type LateFree } from '../memory/late.ts';
import type { Intent } from '../lower/intent.ts';
import type { Cases, Rule } from './rule.ts';

export const rule: Rule = {
  id: 'late-free',
  severity: 'info',
  summary: 'An array stays alive across the peak though nothing reads it any more.',
  docs: `
The peak of a program is the sum of what is alive at one moment. An array whose last use lies before the peak, and which is
freed only after it, raises the peak for nothing: dispose it after its last use, or end its \`using\` block there.`,
  *check(context) {
    for (const late of lateFrees(analysisOf(context), context.settings.minBytes, context.unit.file)) {
      yield {
        span: late.declaration,
        message: `\`${late.name}\` (${writeBytes(late.bytes)}) stays alive across the peak though its last use is before it: freeing it there lowers the peak by ${writeBytes(late.savesBytes)}`,
        notes: [
          { span: late.lastUse, text: 'last use' },
          { span: late.peakAt, text: 'the peak' },
          ...(late.how === 'dispose' ? [{ span: late.freedAt, text: 'freed here' }] : []),
        ],
        intents: intents(late),
        savesBytes: late.savesBytes,
      };
    }
  },
};

function intents({ how, lastUse, freedAt, name, declaration }: LateFree): readonly Intent[] {
  if (declaration.file !== lastUse.file) return [];
  if (how === 'dispose')
    return [{ kind: 'moveDispose', title: `dispose \`${name}\` after its last use`, safe: false, dispose: freedAt, after: lastUse }];
  return [{ kind: 'disposeAfter', title: `dispose \`${name}\` after its last use`, safe: false, name, verb: 'dispose', after: lastUse }];
}

export const cases: Cases = {
  bad: [
    `
import { np } from 'tidemark';
export async function main(): Promise<number> {
  using table = np.ones([1024, 1024]);
  //    ^^^^^ info: \`table\` (4.0 MiB) stays alive across the peak though its last use is before it: freeing it there lowers the peak by 4.0 MiB
  using row = table.sum(0);
  using large = np.ones([4096, 1024]);
  using sum = large.add(row);
  using total = sum.sum();
  return total.item();
}`,
  ],
  good: [
    `
import { np } from 'tidemark';
export async function main(): Promise<number> {
  const table = np.ones([1024, 1024]);
  using row = table.sum(0);
  table.dispose();
  using large = np.ones([4096, 1024]);
  using sum = large.add(row);
  using total = sum.sum();
  return total.item();
}`,
  ],
};
