import { writeBytes } from '../../runtime/core/bytes.ts';
import type { Intent } from '../lower/intent.ts';
import { analysisOf } from '../memory/analysis.ts';
import { rematerialisations, type Rematerialisation } from '../memory/residuals.ts';
import type { Cases, Rule, RuleContext } from './rule.ts';

export const rule: Rule = {
  id: 'remat-candidate',
  severity: 'info',
  summary: 'A gradient keeps values that are cheap to compute again.',
  docs: `
The backward pass of a gradient reads values of the forward pass, and they stay alive until then: with many blocks in a row
this sets the peak. A block that is wrapped in \`checkpoint\` keeps only its arguments, and computes the rest again when the
backward pass needs it. The saving is the planned peak without minus the peak with it.`,
  *check(context) {
    const analysis = analysisOf(context);
    for (const candidate of rematerialisations(context.project, analysis, context.settings.minBytes)) {
      if (candidate.span.file !== context.unit.file) continue;
      const { name, calls, keptBytes, savesBytes, moreWork, span } = candidate;
      yield {
        span,
        message: `${calls} calls of \`${name}\` keep ${writeBytes(keptBytes)} for the gradient: with \`checkpoint\` the peak is ${writeBytes(savesBytes)} lower, for about ${Math.max(1, Math.round(100 * moreWork))} % more arithmetic`,
        notes: declaration(context, candidate),
        intents: intents(context, candidate),
        savesBytes,
      };
    }
  },
};

function declaration(context: RuleContext, { function: id, name }: Rematerialisation): { span: Rematerialisation['span']; text: string }[] {
  const fn = context.project.function(id);
  return fn === undefined ? [] : [{ span: fn.signature, text: `\`${name}\` is declared here` }];
}

function intents(context: RuleContext, { function: id, name }: Rematerialisation): readonly Intent[] {
  const fn = context.project.function(id);
  if (fn === undefined || fn.class !== undefined || name === '') return [];
  return [{ kind: 'checkpoint', title: `wrap \`${name}\` in checkpoint`, safe: false, declaration: fn.span, name }];
}

export const cases: Cases = {
  bad: [
    `
import { grad, jit, nn, np, type Array } from 'tidemark';
function block(x: Array, w: Array): Array {
  const hidden = nn.gelu(x.matmul(w));
  return x.add(hidden.matmul(w.transpose()));
}
function loss(w: Array, x: Array): Array {
  let h = x;
  for (let i = 0; i < 8; i++) {
    h = block(h, w);
    //  ^^^^^^^^^^^ info: 8 calls of \`block\` keep
  }
  return np.square(h).mean();
}
const step = jit((w: Array, x: Array): Array => w.sub(grad(loss)(w, x).mul(0.1)), { donateArgnums: [0] });
export function main(): void {
  using x = np.ones([512, 128]);
  step(np.ones([128, 1024]), x).dispose();
}`,
  ],
  good: [
    `
import { checkpoint, grad, jit, nn, np, type Array } from 'tidemark';
const block = checkpoint((x: Array, w: Array): Array => {
  const hidden = nn.gelu(x.matmul(w));
  return x.add(hidden.matmul(w.transpose()));
});
function loss(w: Array, x: Array): Array {
  let h = x;
  for (let i = 0; i < 8; i++) h = block(h, w);
  return np.square(h).mean();
}
const step = jit((w: Array, x: Array): Array => w.sub(grad(loss)(w, x).mul(0.1)), { donateArgnums: [0] });
export function main(): void {
  using x = np.ones([512, 128]);
  step(np.ones([128, 1024]), x).dispose();
}`,
  ],
};
