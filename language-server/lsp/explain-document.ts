/**
 * A compiled function as read-only documents, one for each stage: their addresses, and their text.
 *
 * Analysis explains from the text alone. Where that doesn't say enough, the plan is the one that the last run measured,
 * and the document says so. Depends on: protocol, compiled/explain, measurements, vscode-uri.
 */
import path from 'node:path';
import { URI } from 'vscode-uri';
import { planText } from '../compiled/explain.ts';
import { explainScheme, explainStages, type ExplainStage, type ExplainTarget, type Explanation } from '../protocol.ts';
import type { Measurement } from './measurements.ts';

/** `tidemark-explain:/step.plan?{…}`: the tab shows `step.plan`. */
export const explainUri = (target: ExplainTarget, stage: ExplainStage): string =>
  URI.from({ scheme: explainScheme, path: `/${target.function}.${stage}`, query: JSON.stringify(target) }).toString();

export function readExplainUri(uri: string): { readonly target: ExplainTarget; readonly stage: ExplainStage } | undefined {
  const { scheme, path: at, query } = URI.parse(uri);
  const stage = explainStages.find((one) => at.endsWith(`.${one}`));
  if (scheme !== explainScheme || stage === undefined) return undefined;
  try {
    const target = JSON.parse(query) as Partial<ExplainTarget>;
    const { file, function: name, line } = target;
    return typeof file === 'string' && typeof name === 'string' && typeof line === 'number'
      ? { target: { file, function: name, line }, stage }
      : undefined;
  } catch {
    return undefined;
  }
}

const subtitles: Readonly<Record<ExplainStage, string>> = {
  plan: 'every stored value: its bytes, its life, its place, and whose bytes it has',
  schedule: 'the kernels in the order in which they run, what each reads and writes, and what it computes',
  ir: 'the program that is compiled: what was traced, without what nobody needs',
  trace: 'every operation of the function, in its order, with its line',
};

export function explainText(
  { target, stage }: { readonly target: ExplainTarget; readonly stage: ExplainStage },
  explanation: Explanation | undefined,
  measurement: Measurement | undefined,
): string {
  const head = [
    `${target.function} · ${stage}: ${subtitles[stage]}`,
    `${path.basename(target.file)}:${target.line}:1 · also: ${explainStages.filter((one) => one !== stage).join(' · ')}`,
    '',
  ];
  const known = explanation?.stages[stage];
  if (known !== undefined && known !== null) return [...head, known].join('\n');
  const why = explanation?.why ?? 'no compiled function of this name is in the file';
  const measured = measurement === undefined ? undefined : measuredPlan(target, measurement);
  if (stage === 'plan' && measured !== undefined)
    return [...head, `From the last run (the text alone doesn't say enough: ${why}).`, '', measured].join('\n');
  return [
    ...head,
    `The text alone doesn't say enough: ${why}.`,
    measured === undefined ? 'Profile it: then the plan of that run is shown here.' : 'The plan of the last run is known: see plan.',
    '',
  ].join('\n');
}

/** The program that the run compiled for the function; where there were several, the one with the highest peak. */
function measuredPlan({ file, function: name, line }: ExplainTarget, { report, programs, resolve }: Measurement): string | undefined {
  const own = report.functions.filter((one) => one.jit !== null && resolve(one.file) === file && (one.name === name || one.line === line));
  const jit = own.find((one) => one.name === name)?.jit ?? own[0]?.jit;
  const program = programs.find(
    ({ peakBytes, argumentBytes, steps }) => jit?.peakBytes === peakBytes && jit.argumentBytes === argumentBytes && steps > 0,
  );
  if (program === undefined) return undefined;
  const folder = path.dirname(file);
  const written = (one: string): string => path.relative(folder, resolve(one)).split(path.sep).join('/');
  return planText(program, { name, file: written, variable: () => undefined });
}
