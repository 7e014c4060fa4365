/**
 * What stands above a file and above its functions: the link that measures, the estimate, the measured peak, what donation saves.
 *
 *   ▶ Profile memory | est. 12·n² B = 12.0 MiB | measured 11.8 MiB | donating params would save 4.0 MiB
 *
 * Each part leads on: the run, the plan (or the line that the estimate is reached at), the timeline, the fix.
 * Positions come from the last good outline, so that a syntax error never makes lines jump. Depends on: view, words, measure/best-donation.
 */
import { commands, type Diagnostic, type FunctionFact, type FunctionReport } from '../protocol.ts';
import type { OutlinedFunction } from '../program/outline.ts';
import { bestDonation } from '../measure/best-donation.ts';
import type { Placed } from './measurements.ts';
import { importedNames } from './array-use.ts';
import type { View } from './view.ts';
import { count, list, writeBytes } from './words.ts';

export interface Lens {
  readonly line: number;
  readonly title: string;
  readonly tooltip?: string;
  readonly command: string;
  readonly arguments: readonly unknown[];
}

const stale = ' (before the last edit)';

export function lenses(view: View): readonly Lens[] {
  if (!view.settings.codeLens || !view.usesArrays) return [];
  return [...fileLenses(view), ...places(view).flatMap((place) => functionLenses(view, place))];
}

function fileLenses({ uri, measurement, placed }: View): readonly Lens[] {
  const measure: Lens = {
    line: 1,
    title: '▶ Profile memory',
    tooltip: 'Run this file in a process of its own and measure the memory of its arrays',
    command: commands.profileFile,
    arguments: [uri],
  };
  if (measurement === undefined || placed === undefined) return [measure];
  const { report } = measurement;
  const where = placed.peak === undefined ? '' : ` at line ${placed.peak.line}`;
  const device = report.device === null ? '' : ` · ${deviceWords(report.device)}`;
  return [
    measure,
    {
      line: 1,
      title: `peak ${writeBytes(report.peakBytes)}${where}${device}${placed.changed ? stale : ''}`,
      tooltip: 'Go to the line where the peak was reached',
      command: commands.showPeak,
      arguments: [uri],
    },
    {
      line: 1,
      title: 'timeline',
      tooltip: 'Memory over the run, and the arrays alive at any moment of it',
      command: commands.showTimeline,
      arguments: [],
    },
  ];
}

/** A processor is software by nature; a graphics device that is not there is worth a word. */
const deviceWords = ({ kind, software }: { readonly kind: string; readonly software: boolean }): string =>
  kind === 'webgpu' ? `WebGPU${software ? ' in software' : ''}` : kind;

/** A function with a lens: known from analysis, from measurement, or from both. */
interface LensPlace {
  readonly name: string;
  readonly line: number;
  readonly endLine: number;
  readonly parameters: readonly string[];
  readonly fact: FunctionFact | undefined;
  readonly measured: Placed<FunctionReport> | undefined;
}

function places(view: View): readonly LensPlace[] {
  const { outline, functions, placed } = view;
  const byLine = new Map<number, LensPlace>();
  const at = (line: number, name: string, more: Partial<LensPlace>): void => {
    const before = byLine.get(line);
    const own = outlined(outline, line, name);
    const empty = { name, line, endLine: own?.endLine ?? line, parameters: own?.parameters ?? [], fact: undefined, measured: undefined };
    byLine.set(line, { ...(before ?? empty), ...more });
  };
  for (const one of usingArrays(view)) at(one.line, one.name, {});
  for (const fact of functions) at(fact.line, fact.name, { fact, ...(fact.endLine === undefined ? {} : { endLine: fact.endLine }) });
  for (const measured of placed?.functions ?? []) {
    if (measured.value.name !== '' && !measured.value.name.startsWith('<')) at(measured.line, measured.value.name, { measured });
  }
  return [...byLine.values()].sort((a, b) => a.line - b.line);
}

/** Functions whose text names something that comes from a known library: before analysis, and where it has no figure. */
function usingArrays({ outline, text }: View): readonly OutlinedFunction[] {
  const names = importedNames(text);
  if (names.length === 0) return [];
  const lines = text.split(/\r\n|\r|\n/);
  const mentions = new RegExp(`(?<![\\w$.])(?:${names.map((name) => name.replaceAll('$', '\\$')).join('|')})\\s*[.(]`);
  // A callback within a function is part of it.
  const outermost = outline.filter(
    (one) => !outline.some((other) => other !== one && other.line <= one.line && one.endLine <= other.endLine),
  );
  return outermost.filter(({ line, endLine }) => mentions.test(lines.slice(line - 1, endLine).join('\n')));
}

const outlined = (outline: readonly OutlinedFunction[], line: number, name: string): OutlinedFunction | undefined =>
  outline.find((one) => one.line === line) ?? outline.find((one) => one.name === name);

function functionLenses(view: View, place: LensPlace): readonly Lens[] {
  const { uri, notReached } = view;
  const { name, line, measured } = place;
  const found: Lens[] = [];
  // On the first line stands the file's own link already.
  if (line > 1) {
    found.push({
      line,
      title: '▶ Profile memory',
      tooltip: `Run the program and measure the memory while \`${name}\` runs`,
      command: commands.profileFunction,
      arguments: [uri, name, line],
    });
  }
  const estimate = estimateOf(place);
  if (estimate !== undefined) {
    found.push({
      line,
      title: estimate,
      ...estimateLeads(view, place),
    });
  }
  if (measured !== undefined && measured.value.peakBytes > 0) {
    const { peakBytes, enteredBytes, calls } = measured.value;
    found.push({
      line,
      title: `measured ${writeBytes(peakBytes)}${measured.stale ? stale : ''}`,
      tooltip: `The most in use while \`${name}\` ran, of the whole program: ${writeBytes(peakBytes)}; ${writeBytes(enteredBytes)} were in use when it was entered${calls > 0 ? `. Called ${count(calls, 'time')}` : ''}`,
      command: commands.showTimeline,
      arguments: [],
    });
  } else if (notReached.has(name)) {
    found.push({
      line,
      title: 'not reached: choose what runs',
      tooltip: `\`${name}\` was never called in the last run`,
      command: commands.chooseEntry,
      arguments: [uri, name],
    });
  }
  return [...found, ...[savingOf(view, place), reuseOf(view, place)].filter((one) => one !== undefined)];
}

/** How the values of a compiled function share memory: what the plan says in a few words, with the plan behind it. */
function reuseOf({ uri }: View, { name, line, fact, measured }: LensPlace): Lens | undefined {
  const plan = fact?.compiled;
  if (plan === undefined && (measured === undefined || measured.value.jit === null)) return undefined;
  const words =
    plan === undefined
      ? []
      : [
          plan.inPlace > 0 ? `${plan.inPlace} updated in place` : '',
          plan.space > 0 ? `${plan.space} reuse space` : '',
          plan.copies > 0 ? `${count(plan.copies, 'copy', 'copies')} ${writeBytes(plan.copyBytes)}` : '',
        ].filter((one) => one !== '');
  return {
    line,
    title: words.length === 0 ? 'explain' : `explain: ${words.join(', ')}`,
    tooltip: `The plan of \`${name}\`: every value with its bytes, its life, its place in memory, and whose bytes it has`,
    command: commands.explain,
    arguments: [uri, name, line],
  };
}

/** The formula and what it comes to, as far as analysis knows either. */
function estimateOf({ fact }: LensPlace): string | undefined {
  if (fact === undefined) return undefined;
  const { staticPeak, staticPeakBytes } = fact;
  const formula = staticPeak === null ? '' : `${withPowers(staticPeak)} B`;
  if (staticPeakBytes === null) return formula === '' ? undefined : `est. ${formula}${fitsWords(fact)}`;
  return `est. ${formula === '' ? '' : `${formula} = `}${writeBytes(staticPeakBytes)}`;
}

/** The plan of what is compiled; of anything else the line at which the estimate is reached. */
function estimateLeads({ uri }: View, { name, line, fact }: LensPlace): Pick<Lens, 'tooltip' | 'command' | 'arguments'> {
  const expected = 'What analysis expects without running anything';
  if (fact?.compiled !== undefined)
    return { tooltip: `${expected}: ${partsOf(fact.compiled)}. Explain it`, command: commands.explain, arguments: [uri, name, line] };
  const at = fact?.peakLine ?? line;
  return { tooltip: `${expected}: reached at line ${at}`, command: commands.showPeak, arguments: [uri, at] };
}

/** What the bytes of a call are for: which of them decides the peak has no formula, since the plan packs them. */
function partsOf({ argumentBytes, outputBytes, aliasBytes, tempBytes }: NonNullable<FunctionFact['compiled']>): string {
  const inPlace = aliasBytes === 0 ? '' : ` (${writeBytes(aliasBytes)} in the buffers of donated ones)`;
  return `arguments ${writeBytes(argumentBytes)}, outputs ${writeBytes(outputBytes)}${inPlace}, temporaries ${writeBytes(tempBytes)}`;
}

/** `12·n·n·m` is read faster as `12·n²·m`. */
function withPowers(formula: string): string {
  return formula.replace(/([^\s·]+)((?:·\1(?![^\s·]))+)/g, (whole: string, name: string, again: string) => {
    const power = again.length / (name.length + 1) + 1;
    return /^\d+$/.test(name) || power > 9 ? whole : `${name}${'⁰¹²³⁴⁵⁶⁷⁸⁹'[power]}`;
  });
}

/** `, within 64.0 MiB up to batch = 1,024`: the question that people answer by trial and out-of-memory. */
function fitsWords({ fits }: FunctionFact): string {
  if (fits === undefined) return '';
  const budget = writeBytes(fits.budgetBytes);
  return fits.most === 0
    ? `, above ${budget} with any ${fits.dimension}`
    : `, within ${budget} up to ${fits.dimension} = ${fits.most.toLocaleString('en')}`;
}

/** The finding says it exactly; without one, the compiled program's own what-if does, for the measured version only. */
function savingOf(view: View, place: LensPlace): Lens | undefined {
  const finding = view.diagnostics
    .filter((one) => one.savesBytes !== null && one.savesBytes > 0 && belongsTo(view.file, one, place))
    .sort((a, b) => b.savesBytes! - a.savesBytes!)[0];
  if (finding !== undefined) {
    return {
      line: place.line,
      title: `${gain(finding)} would save ${writeBytes(finding.savesBytes!)}`,
      tooltip: finding.message,
      command: commands.showFix,
      arguments: [view.uri, finding.line, finding.column],
    };
  }
  const { measured, parameters } = place;
  const jit = measured === undefined || measured.stale ? null : measured.value.jit;
  if (jit === null) return undefined;
  const best = bestDonation(jit);
  if (best === undefined || best.savesBytes < view.settings.minBytes) return undefined;
  const names = best.donateArgnums.map((index) => parameters[index] ?? `argument ${index}`);
  return {
    line: place.line,
    title: `donating ${list(names)} would save ${writeBytes(best.savesBytes)}`,
    tooltip: `The compiled program was planned again with donateArgnums [${best.donateArgnums.join(', ')}]: ${writeBytes(jit.peakBytes)} become ${writeBytes(best.peakBytes)}`,
    command: commands.showPeak,
    arguments: [view.uri, place.line],
  };
}

/** Within the function, about it, or about a call of what is compiled there. */
const belongsTo = (file: string, one: Diagnostic, { line, endLine, name }: LensPlace): boolean =>
  [one, ...one.related.filter((place) => place.file === file)].some((place) => line <= place.line && place.line <= endLine) ||
  one.message.includes(`\`${name}\``);

/** `donating params` where the finding is about a donation, else its rule. */
function gain({ rule, message }: Diagnostic): string {
  if (rule !== 'missed-donation') return rule.replaceAll('-', ' ');
  // The sentence begins with all that is to be donated: `a`, `b` and `c`.
  const named = /^(?:`[^`]+`(?:, | and )?)+/.exec(message)?.[0] ?? /`[^`]+`/.exec(message)?.[0];
  return named === undefined ? 'a donation' : `donating ${named.trim().replaceAll('`', '')}`;
}
