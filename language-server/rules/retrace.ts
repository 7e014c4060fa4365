import { varyingArgument, type Varying } from '../flow/varying.ts';
import { analysisOf, spanKey } from '../memory/analysis.ts';
import { retraces } from '../memory/retraces.ts';
import type { Cases, Rule } from './rule.ts';

export const rule: Rule = {
  id: 'retrace',
  severity: 'warning',
  summary: 'A compiled function is called with ever new shapes or static arguments.',
  docs: `
A compiled function keeps one program for each combination of shapes, dtypes and static arguments. When a loop variable
flows into a shape, every round traces and compiles again, and all the programs stay. Pad to a fixed size, or pass what
changes as an array: its values may change without a new trace.`,
  *check(context) {
    for (const { span, jit, name, programs, examples } of retraces(analysisOf(context))) {
      if (span.file !== context.unit.file) continue;
      const sameShapes = new Set(examples.map(shapes)).size === 1;
      yield {
        span,
        message: `${name === '' ? 'the compiled function' : `\`${name}\``} is traced again for every new ${sameShapes ? 'static argument' : 'shape'} that reaches this call: at least ${programs} programs`,
        notes: [{ span: jit, text: sameShapes ? 'compiled here' : `compiled here; called with ${examples.map(shapes).join(', then ')}` }],
        intents: [],
      };
    }
    const known = new Set(retraces(analysisOf(context)).map(({ span }) => spanKey(span)));
    for (const call of context.calls) {
      const fn = context.project.function(call.function);
      const isNew = !known.has(spanKey(call.span)) && call.how !== 'grad' && call.how !== 'other';
      const varying = isNew && fn !== undefined ? varyingArgument(fn, call) : undefined;
      if (varying === undefined) continue;
      known.add(spanKey(call.span));
      yield {
        span: call.span,
        message: `${varying.name === undefined ? 'the compiled function' : `\`${varying.name}\``} is traced again with every call here: ${why(varying)}`,
        notes: [{ span: call.jit, text: 'compiled here' }],
        intents: [],
      };
    }
    for (const [line, traces] of context.measured?.tracesOfLine ?? []) {
      const call = context.calls.find(({ jit }) => jit.file === context.unit.file && lineOf(context.unit.lines, jit.start) === line);
      if (call === undefined || traces <= 3 || retraces(analysisOf(context)).some(({ jit }) => jit.start === call.jit.start)) continue;
      yield {
        span: call.span,
        message: `\`${call.name}\` was traced ${traces} times in the last run`,
        notes: [{ span: call.jit, text: 'compiled here' }],
        intents: [],
      };
    }
  },
};

const why = ({ position, variable, what }: Varying): string =>
  what === 'static'
    ? `its static argument ${position} is ${variable === undefined ? 'a number that is never the same' : `\`${variable}\`, which changes every round`}; pass it as an array`
    : `\`${variable}\` changes the shape of argument ${position} every round; pad to one size`;

/** The shapes in a signature, as people write them. */
const shapes = (signature: string): string =>
  [...signature.matchAll(/\w+\[[^\]]*\]/g)]
    .map(([shape]) => shape)
    .filter((shape) => /^(f32|f16|i32|u32|bool)\[/.test(shape))
    .join(' ') || signature;

function lineOf(lines: readonly number[], offset: number): number {
  let line = 0;
  while (line + 1 < lines.length && lines[line + 1]! <= offset) line++;
  return line + 1;
}

export const cases: Cases = {
  bad: [
    `
import { jit, np, type Array } from 'tidemark';
const layer = jit((x: Array): Array => x.mul(2).sum());
export async function timings(largest: number): Promise<void> {
  for (let batch = 1; batch <= largest; batch++) {
    using x = np.ones([batch, 256]);
    using y = layer(x);
    //        ^^^^^^^^ warning: \`layer\` is traced again for every new shape that reaches this call: at least 5 programs
    await y.item();
  }
}`,
  ],
  good: [
    `
import { jit, np, type Array } from 'tidemark';
const layer = jit((x: Array): Array => x.mul(2).sum());
export async function total(rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    using x = np.full([32, 256], i);
    using y = layer(x);
    await y.item();
  }
}`,
  ],
};
