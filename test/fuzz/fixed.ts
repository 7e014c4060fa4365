/**
 * Applies every safe fix to generated programs and runs them before and after.
 *
 * The promise of a safe fix: the same numbers, no new exception, bytes never higher, and the fault is gone.
 * Depends on: check, generate, run.
 */
import type { Diagnostic, Edit } from '../../language-server/protocol.ts';
import { checkTexts, faults } from './check.ts';
import { generate } from './generate.ts';
import { guards, print, type Dialect } from './program.ts';
import { runText, type Run } from './run.ts';
import { seeded, type Random } from './seeded.ts';

export interface Fixed {
  readonly dialect: Dialect;
  readonly seed: number;
  readonly before: string;
  readonly after: string;
  /** The rule of each fix that was applied. */
  readonly rules: readonly string[];
  /** What the fixes broke; empty when they kept their promise. */
  readonly broken: readonly string[];
}

/** Programs in which one to three words were forgotten; only those to which a safe fix was applied are returned. */
export async function fixAll(dialect: Dialect, seeds: readonly number[]): Promise<readonly Fixed[]> {
  const programs = seeds.map((seed) => {
    const program = generate(dialect, seed);
    const random = seeded(seed + 11);
    const all = [...guards(program)];
    const without = new Set(Array.from({ length: Math.min(1 + random.below(3), all.length) }, () => random.pick(all).id));
    return { seed, flags: program.flags, before: withSurplus(dialect, print(program, { without }), random) };
  });
  const texts = programs.map(({ before }) => before);
  const first = await checkTexts(texts);
  const fixes = programs.map((): string[] => []);
  let said = first;
  for (let round = 0; round < 8; round++) {
    let changed = false;
    for (const [index, diagnostics] of said.entries()) {
      const { text, rules } = apply(texts[index]!, diagnostics);
      texts[index] = text;
      fixes[index]!.push(...rules);
      changed ||= rules.length > 0;
    }
    if (!changed) break;
    said = await checkTexts(texts);
  }
  const fixed: Fixed[] = [];
  for (const [index, { seed, flags, before }] of programs.entries()) {
    if (fixes[index]!.length === 0) continue;
    const after = texts[index]!;
    const broken = differences(await runText(dialect, before, flags), await runText(dialect, after, flags));
    if (faults(said[index]!).length >= faults(first[index]!).length) broken.push('as many reports after the fixes as before');
    fixed.push({ dialect, seed, before, after, rules: fixes[index]!, broken });
  }
  return fixed;
}

/** What people leave behind: a comment that silences nothing, and, where freeing twice is a mistake, a second dispose. */
function withSurplus(dialect: Dialect, text: string, random: Random): string {
  const lines = text.split('\n');
  const add = (chosen: readonly number[], line: (index: number) => string): void => {
    if (chosen.length === 0 || !random.chance(0.4)) return;
    const index = random.pick(chosen);
    lines.splice(index, 0, line(index));
  };
  const where = (pattern: RegExp): readonly number[] => lines.flatMap((line, index) => (pattern.test(line) ? [index] : []));
  if (dialect === 'jax-js') add(where(/^ +x\d+\.dispose\(\);$/), (index) => lines[index]!);
  add(where(/^ +(const|out\.push)\b/), (index) => `${/^ */.exec(lines[index]!)![0]}// tidemark-ignore retrace: was so once`);
  return lines.join('\n');
}

function differences(before: readonly Run[], after: readonly Run[]): string[] {
  return before.flatMap((old, index) => {
    const now = after[index]!;
    const where = `with ${old.flags.join()}`;
    return [
      ...(JSON.stringify(old.out) === JSON.stringify(now.out) || old.error !== undefined
        ? []
        : [`${where}: ${JSON.stringify(old.out)} became ${JSON.stringify(now.out)}`]),
      ...(now.error === undefined || old.error !== undefined ? [] : [`${where}: throws ${now.error}`]),
      ...(now.leaked <= old.leaked || old.error !== undefined ? [] : [`${where}: ${old.leaked} left alive became ${now.leaked}`]),
      ...(now.peakBytes <= old.peakBytes || old.error !== undefined ? [] : [`${where}: peak ${old.peakBytes} became ${now.peakBytes}`]),
    ];
  });
}

/** The first safe fix of each diagnostic, where it overlaps no other. */
function apply(text: string, diagnostics: readonly Diagnostic[]): { readonly text: string; readonly rules: readonly string[] } {
  const lines = starts(text);
  const taken: { readonly start: number; readonly end: number; readonly newText: string }[] = [];
  const rules: string[] = [];
  for (const { rule, fixes } of diagnostics) {
    const fix = fixes.find(({ safe, disabled }) => safe && disabled === undefined);
    if (fix === undefined || fix.edits.length === 0) continue;
    const edits = fix.edits.map(({ start, end, newText }: Edit) => ({
      start: lines[start.line - 1]! + start.column - 1,
      end: lines[end.line - 1]! + end.column - 1,
      newText,
    }));
    if (edits.some((edit) => taken.some((other) => edit.start <= other.end && other.start <= edit.end))) continue;
    taken.push(...edits);
    rules.push(rule);
  }
  const sorted = taken.toSorted((a, b) => b.start - a.start);
  return { text: sorted.reduce((result, { start, end, newText }) => result.slice(0, start) + newText + result.slice(end), text), rules };
}

function starts(text: string): readonly number[] {
  const found = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) found.push(at + 1);
  return found;
}
