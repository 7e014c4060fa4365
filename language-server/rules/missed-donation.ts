import { writeBytes } from '../../runtime/core/bytes.ts';
import type { ShapedCall } from '../compiled/jitted.ts';
import type { CompiledArgument, CompiledCall } from '../flow/facts.ts';
import type { Intent } from '../lower/intent.ts';
import type { Span } from '../lower/ir.ts';
import { analysisOf, spanKey, type Analysis } from '../memory/analysis.ts';
import { saving, type Saving } from '../memory/candidates.ts';
import { isKnownOnlyHere, onlyAfter } from '../memory/holders.ts';
import type { Cases, Finding, Rule, RuleContext } from './rule.ts';

export const rule: Rule = {
  id: 'missed-donation',
  severity: 'info',
  summary: 'An argument of a compiled call is dead after it and could have given its buffer to an output.',
  docs: `
A compiled function returns new arrays, and the arrays that they replace are freed only afterwards: for the length of the
call both are resident. An argument that nothing reads after the call, and whose bytes an output needs, can be donated:
\`jit(f, { donateArgnums: [0] })\`. Its buffer then becomes the output's, and results stay the same bit for bit. The saving
that is promised is the planned peak of the call without the donation minus the peak with it, so it is what a run measures.`,
  *check(context) {
    const analysis = analysisOf(context);
    for (const call of context.calls) {
      const dead = call.arguments.filter((argument) => argument.donated === undefined && isDead(analysis, call, argument));
      if (dead.length === 0) {
        if (call.arguments.some((argument) => argument.arrays && argument.owner === 'caller' && argument.after !== 'read'))
          context.silent('an argument belongs to the caller');
        continue;
      }
      const best = bestSaving(
        context,
        analysis,
        call,
        dead.map(({ position }) => position),
      );
      if (best !== undefined) yield finding(context, analysis, call, best);
    }
  },
};

/**
 * Nothing reads the argument after the call. Two walks are asked: the one over all paths, and the one with shapes, which
 * knows more of lists that loops fill; neither may know of a use.
 */
function isDead(analysis: Analysis, call: CompiledCall, argument: CompiledArgument): boolean {
  if (argument.after !== 'dead' || argument.owner === 'caller') return false;
  const seen = analysis.afterCall(call.span, argument.position);
  return argument.arrays ? seen !== 'used' : seen === 'dead';
}

/** A call with more shapes than this has another fault. */
const mostShapes = 6;

/** Over all shapes that reach the call: the arguments that pay for each, and the largest saving. */
function bestSaving(context: RuleContext, analysis: Analysis, call: CompiledCall, dead: readonly number[]): Saving | undefined {
  const seen = analysis.callsAt(call.span).slice(0, mostShapes);
  if (seen.length === 0) context.silent('no walk reaches the call');
  const passedTwice = seen.flatMap(({ leaves }) => twice(leaves));
  const candidates = dead.filter((position) => !passedTwice.includes(position));
  if (candidates.length === 0) {
    context.silent('one array is passed twice');
    return undefined;
  }
  const savings: Saving[] = [];
  for (const shaped of seen) {
    if (shaped.traced === undefined) {
      context.silent(shaped.unknown ?? 'the program is not known');
      continue;
    }
    const found = saving(shaped, candidates, context.settings.minBytes);
    if (found === undefined) context.silent('no output needs the bytes, or the peak stays the same');
    else savings.push(found);
  }
  return savings.toSorted((a, b) => Number(a.atMost) - Number(b.atMost) || b.savesBytes - a.savesBytes)[0];
}

/** The arguments with an array that the call is given at another place too: donating one takes it from the other. */
const twice = (leaves: ShapedCall['leaves']): readonly number[] =>
  leaves
    .filter((leaf) => leaf.array !== undefined && leaves.some((other) => other !== leaf && other.array === leaf.array))
    .map(({ argument }) => argument);

function finding(
  context: RuleContext,
  analysis: Analysis,
  call: CompiledCall,
  { positions, savesBytes, bytesBefore, bytesAfter, atMost }: Saving,
): Finding {
  const given = call.arguments.filter(({ position }) => positions.includes(position));
  const leaves = analysis.callsAt(call.span)[0]?.leaves ?? [];
  const names = given.map(
    ({ name, position }) => quoted(name ?? rootOf(leaves.find(({ argument }) => argument === position)?.path)) ?? `argument ${position}`,
  );
  const frees = given.flatMap(({ freedAt }) => freedAt);
  return {
    span: call.span,
    message: `${listed(names)} ${given.length === 1 ? 'is' : 'are'} dead after this call but not donated: donating lowers its peak by ${atMost ? `up to ${writeBytes(savesBytes)}` : `${writeBytes(savesBytes)}, from ${writeBytes(bytesBefore)} to ${writeBytes(bytesAfter)}`}`,
    notes: [{ span: call.jit, text: 'compiled here' }, ...frees.slice(0, 3).map((span) => ({ span, text: 'freed here' }))],
    intents: intents(context, analysis, call, positions),
    savesBytes: atMost ? null : savesBytes,
  };
}

/** At the `jit` when all its calls allow it; else at this call. */
function intents(context: RuleContext, analysis: Analysis, call: CompiledCall, positions: readonly number[]): readonly Intent[] {
  const jit = spanKey(call.jit);
  const siblings = context.allCalls.filter((other) => spanKey(other.jit) === jit);
  const consent = siblings.every((other) => positions.every((position) => allows(analysis, other, position)));
  const proven =
    consent && analysis.callsOf(call.jit).every(({ leaves }) => twice(leaves).every((position) => !positions.includes(position)));
  const all = siblings.flatMap((other) =>
    onlyAfter(
      context.project,
      other.span,
      other.arguments.filter(({ position }) => positions.includes(position)).flatMap(({ freedAt }) => freedAt),
    ),
  );
  if (consent) {
    const only = isKnownOnlyHere(context.project, call.jit, siblings);
    return [
      {
        kind: 'donateAtJit',
        title: `donate ${positions.length === 1 ? `argument ${positions[0]}` : `arguments ${positions.join(', ')}`} of ${quoted(call.name) ?? quoted(analysis.callsAt(call.span)[0]?.function.bound) ?? 'the compiled function'}`,
        safe: proven && only,
        jit: call.jit,
        positions,
        deadDisposes: proven && only ? once(all) : [],
      },
    ];
  }
  return call.arguments
    .filter(({ position }) => positions.includes(position))
    .map(({ span, name, freedAt }) => ({
      kind: 'donateAtCall' as const,
      title: `donate ${name === undefined ? 'the argument' : `\`${name}\``} at this call`,
      safe: !call.inLoop || freedAt.length > 0,
      argument: span,
      deadDisposes: once(onlyAfter(context.project, call.span, freedAt)),
    }));
}

function allows(analysis: Analysis, call: CompiledCall, position: number): boolean {
  const argument = call.arguments.find((other) => other.position === position);
  return argument !== undefined && (argument.donated !== undefined || isDead(analysis, call, argument));
}

const quoted = (name: string | undefined): string | undefined => (name === undefined || name === '' ? undefined : `\`${name}\``);

/** The name of the parameter in the path of a leaf. */
const rootOf = (path: string | undefined): string | undefined => (path === undefined ? undefined : /^[\w$]+/.exec(path)?.[0]);

const once = (spans: readonly Span[]): readonly Span[] => [...new Map(spans.map((span) => [spanKey(span), span])).values()];

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)!}`;

export const cases: Cases = {
  bad: [
    `
import { jit, np, type Array } from 'tidemark';
const update = jit((w: Array): Array => w.mul(0.9).add(1));
export function train(): Array {
  let w = np.ones([1024, 1024]);
  for (let i = 0; i < 3; i++) {
    const next = update(w);
    //           ^^^^^^^^^ info: \`w\` is dead after this call but not donated: donating lowers its peak by 4.0 MiB, from 8.0 MiB to 4.0 MiB
    w.dispose();
    w = next;
  }
  return w;
}`,
    // What is passed twice can't be donated; that is no reason to keep the others.
    `
import { jit, np, type Array } from 'tidemark';
const append = jit((rows: Array, first: Array, second: Array): Array => rows.add(first).add(second));
export function fill(): Array {
  let rows = np.ones([1024, 1024]);
  using row = np.ones([1024]);
  for (let i = 0; i < 3; i++) {
    const next = append(rows, row, row);
    //           ^^^^^^^^^^^^^^^^^^^^^^ info: \`rows\` is dead after this call but not donated: donating lowers its peak by 4.0 MiB, from 8.0 MiB to 4.0 MiB
    rows.dispose();
    rows = next;
  }
  return rows;
}`,
  ],
  good: [
    `
import { jit, np, type Array } from 'tidemark';
const both = jit((a: Array, b: Array): Array => a.mul(0.9).add(b));
export function train(): Array {
  let w = np.ones([1024, 1024]);
  for (let i = 0; i < 3; i++) {
    const next = both(w, w);
    w.dispose();
    w = next;
  }
  return w;
}`,
    `
import { jit, np, type Array } from 'tidemark';
const update = jit((w: Array): Array => w.mul(0.9).add(1), { donateArgnums: [0] });
export function train(): Array {
  let w = np.ones([1024, 1024]);
  for (let i = 0; i < 3; i++) w = update(w);
  return w;
}`,
    `
import { jit, np, type Array } from 'tidemark';
const update = jit((w: Array): Array => w.mul(0.9).add(1));
export async function compare(): Promise<number> {
  using w = np.ones([1024, 1024]);
  using next = update(w);
  using gap = next.sub(w);
  using change = gap.max();
  return change.item();
}`,
  ],
};
