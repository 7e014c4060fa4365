import { printAval } from '../../runtime/core/aval.ts';
import { writeBytes } from '../../runtime/core/bytes.ts';
import type { CompiledArgument, CompiledCall } from '../flow/facts.ts';
import { yieldsScalar } from '../flow/scalar-results.ts';
import type { Intent } from '../lower/intent.ts';
import { analysisOf, spanKey } from '../memory/analysis.ts';
import { vainBesideScalar, vainDonations, type Vain } from '../memory/candidates.ts';
import type { Cases, Finding, Rule, RuleContext } from './rule.ts';

export const rule: Rule = {
  id: 'unusable-donation',
  severity: 'warning',
  summary: 'A donated argument whose bytes no output can take.',
  docs: `
A donated array gives its buffer to an output of the same bytes. Where no output has them, the buffer is freed at the last
use inside of the call instead: if that lowers the planned peak, this is only a remark; if it doesn't, the donation takes
the array away from the caller for nothing. Leave that argument out of the donation, and dispose the array after the call.`,
  *check(context) {
    const analysis = analysisOf(context);
    for (const call of context.calls) {
      if (!call.arguments.some(({ donated }) => donated !== undefined)) continue;
      const seen = analysis.callsAt(call.span).slice(0, 6);
      if (seen.length === 0) context.silent('no walk reaches the call');
      const found = new Map<number, Vain>();
      let always = true;
      for (const shaped of seen) {
        const target = shaped.function.target === undefined ? undefined : context.project.function(shaped.function.target);
        if (shaped.traced === undefined && target !== undefined && yieldsScalar(target)) {
          for (const donation of vainBesideScalar(shaped)) if (!found.has(donation.position)) found.set(donation.position, donation);
          continue;
        }
        if (shaped.traced === undefined) {
          context.silent(shaped.unknown ?? 'the program is not known');
          continue;
        }
        const vain = vainDonations(shaped);
        if (vain.length === 0) always = false;
        for (const donation of vain) if (!found.has(donation.position)) found.set(donation.position, donation);
      }
      if (!always) continue;
      for (const donation of found.values()) yield finding(context, call, donation);
    }
  },
};

function finding(context: RuleContext, call: CompiledCall, vain: Vain): Finding {
  const [leaf] = vain.leaves;
  const others = vain.leaves.length - 1;
  const argument = call.arguments.find(({ position }) => position === vain.position);
  const { savesBytes } = vain;
  const pays = savesBytes === undefined || savesBytes > 0;
  const what = `\`${leaf!.path}\` (${printAval(leaf!.aval)}, ${writeBytes(leaf!.bytes)})${others > 0 ? ` and ${others} more ${others === 1 ? 'array' : 'arrays'} of it` : ''}`;
  const effect =
    savesBytes === undefined
      ? 'whether its early end lowers the peak is not known'
      : pays
        ? `its early end lowers the peak by ${writeBytes(savesBytes)}`
        : 'the planned peak is the same without it';
  return {
    span: call.span,
    message: `${what} ${others > 0 ? 'are' : 'is'} donated, but no output can take ${others > 0 ? 'their buffers' : 'its buffer'}: ${leaf!.why}; ${effect}`,
    notes: [
      {
        span: vain.how === 'options' ? call.jit : (argument?.span ?? call.span),
        text: vain.how === 'options' ? 'donated by these options' : 'donated here',
      },
    ],
    intents: vain.how === 'options' ? intents(context, call, vain, argument) : markIntents(call, argument),
    severity: pays ? 'info' : 'warning',
    savesBytes: null,
  };
}

function intents(context: RuleContext, call: CompiledCall, vain: Vain, argument: CompiledArgument | undefined): readonly Intent[] {
  const calls = context.allCalls.filter((other) => spanKey(other.jit) === spanKey(call.jit)).length;
  const named = argument?.name !== undefined && /^[\w$]+$/.test(argument.name) ? argument.name : undefined;
  const title = `don't donate ${named === undefined ? `argument ${vain.position}` : `\`${named}\``}${named === undefined ? '' : ', dispose it after the call'}`;
  const common = { kind: 'dropDonation' as const, title, safe: false, jit: call.jit, position: vain.position };
  if (named === undefined) return calls === 1 ? [{ ...common, title: `don't donate argument ${vain.position}` }] : [];
  return [{ ...common, after: call.span, name: named }];
}

function markIntents(call: CompiledCall, argument: CompiledArgument | undefined): readonly Intent[] {
  if (argument === undefined) return [];
  const name = argument.name !== undefined && /^[\w$]+$/.test(argument.name) ? argument.name : undefined;
  const title = name === undefined ? "don't donate the argument" : `don't donate \`${name}\`, dispose it after the call`;
  return [
    { kind: 'dropDonateMark', title, safe: false, argument: argument.span, ...(name === undefined ? {} : { after: call.span, name }) },
  ];
}

export const cases: Cases = {
  bad: [
    `
import { jit, np, type Array } from 'tidemark';
const gram = jit((x: Array): Array => x.transpose().matmul(x), { donateArgnums: [0] });
export function main(): void {
  const x = np.ones([20_000, 64]);
  using g = gram(x);
  //        ^^^^^^^ warning: \`x\` (f32[20000,64], 4.9 MiB) is donated, but no output can take its buffer: the nearest output is f32[64,64], smaller; the planned peak is the same without it
  void g.shape;
}`,
  ],
  good: [
    `
import { jit, np, type Array } from 'tidemark';
const scale = jit((x: Array): Array => x.mul(2), { donateArgnums: [0] });
export function main(): void {
  using y = scale(np.ones([20_000, 64]));
  void y.shape;
}`,
  ],
};
