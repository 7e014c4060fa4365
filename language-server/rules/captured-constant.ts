import { printAval, avalBytes } from '../../runtime/core/aval.ts';
import { writeBytes } from '../../runtime/core/bytes.ts';
import { reads, type FunctionId, type Span } from '../lower/ir.ts';
import { analysisOf, spanKey, type Analysis } from '../memory/analysis.ts';
import type { Cases, Rule, RuleContext } from './rule.ts';

/** Smaller tables belong into a program: filter taps, means of channels. */
const leastBytes = 64 * 1024;

export const rule: Rule = {
  id: 'captured-constant',
  severity: 'warning',
  summary: 'A compiled function closes over an array that becomes part of the program.',
  docs: `
An array that a compiled function reads from outside is a constant of its program: it stays alive as long as the program
does, can never be donated, and a new array means a new program. Pass it as an argument.`,
  *check(context) {
    const analysis = analysisOf(context);
    const seen = new Set<string>();
    for (const { array, span, jit, name, function: within } of [...analysis.captured, ...capturesByPlace(context)]) {
      if (span.file !== context.unit.file || seen.has(spanKey(span))) continue;
      seen.add(spanKey(span));
      const bytes = avalBytes(array.aval);
      if (typeof bytes !== 'number') {
        context.silent('the size of the captured array is not known');
        continue;
      }
      if (bytes < leastBytes) continue;
      const what = name === undefined ? 'an array' : `\`${name.replace(/^this\./, '')}\``;
      yield {
        span,
        message: `${what} (${printAval(array.aval)}, ${writeBytes(bytes)}) is captured by a compiled function: it becomes a constant of the program, which keeps it alive and can't take its buffer`,
        notes: [{ span: jit, text: 'compiled here' }],
        intents:
          within === undefined || name === undefined
            ? []
            : [{ kind: 'captureToArgument', title: `pass ${what} as an argument`, safe: false, use: span, jit, name }],
      };
    }
  },
};

type Use = Analysis['captured'][number];
/** What the rule needs of a use. */
type Place = Omit<Use, 'array'> & { readonly array: Pick<Use['array'], 'aval'> };

/** Captures in functions that no walk with shapes could trace: of an array whose place always makes it of one size. */
function capturesByPlace(context: RuleContext): readonly Place[] {
  const { exploration, callsOf } = analysisOf(context);
  return context.captures.flatMap(({ span, jit, name, made, function: within }) => {
    if (made === undefined || callsOf(jit).some(({ traced }) => traced !== undefined) || !isUsed(context, span, within)) return [];
    const lives = exploration.runs.flatMap(({ ledger }) => ledger.lives.filter((life) => spanKey(life.made) === spanKey(made)));
    const [first] = lives;
    const same = lives.every(({ aval }) => aval !== undefined && first?.aval !== undefined && printAval(aval) === printAval(first.aval));
    return first?.aval === undefined || !same ? [] : [{ array: { aval: first.aval }, span, jit, name, function: within }];
  });
}

const metadata = /^(shape|dtype|ndim|size|nbytes|length)$/;

/** Is the captured array needed for more than its shape? */
function isUsed(context: RuleContext, span: Span, within: FunctionId): boolean {
  const events = context.project.function(within)?.blocks.flatMap((block) => block.events) ?? [];
  const taken = events.find((event) => event.kind === 'outer' && spanKey(event.span) === spanKey(span));
  return (
    taken?.kind !== 'outer' ||
    events.some(
      (event) =>
        reads(event).includes(taken.to) && !(event.kind === 'property' && event.key.kind === 'name' && metadata.test(event.key.name)),
    )
  );
}

export const cases: Cases = {
  bad: [
    `
import { jit, np, type Array } from 'tidemark';
const table = np.ones([1000, 1000]);
const look = jit((x: Array): Array => x.matmul(table));
//                                             ^^^^^ warning: \`table\` (f32[1000,1000], 3.8 MiB) is captured by a compiled function: it becomes a constant of the program, which keeps it alive and can't take its buffer
export function main(): void {
  using x = np.ones([4, 1000]);
  look(x).dispose();
}`,
  ],
  good: [
    `
import { jit, np, type Array } from 'tidemark';
const taps = np.array([0.25, 0.5, 0.25]);
const filter = jit((x: Array): Array => x.mul(taps).sum());
export function main(): void {
  using x = np.ones([1000, 3]);
  filter(x).dispose();
}`,
  ],
};
