/**
 * What the analyser says about generated programs against what they do when they run.
 *
 * Four questions: is it silent on right programs; does it report every mutant that leaks or fails; does what it calls
 * certain happen on every run that comes by; does nothing fail that it didn't report. Depends on: check, generate, run.
 */
import type { Diagnostic } from '../../language-server/protocol.ts';
import { checkTexts, faults } from './check.ts';
import { generate } from './generate.ts';
import { guards, print, type Dialect, type Guard, type Program } from './program.ts';
import { runs, type Run } from './run.ts';
import { seeded } from './seeded.ts';

export interface Verdicts {
  readonly programs: number;
  readonly mutants: number;
  /** Mutants that leak or fail in some run. */
  readonly faulty: number;
  readonly reported: number;
  /** Programs with a report although no run does anything wrong. */
  readonly alarms: readonly Case[];
  readonly missed: readonly Case[];
  /** A use called certain that a run passed without failing. */
  readonly unsound: readonly Case[];
  /** By kind of guard: faulty and reported mutants. */
  readonly byGuard: ReadonlyMap<string, readonly [faulty: number, reported: number]>;
}

export interface Case {
  readonly dialect: Dialect;
  readonly seed: number;
  readonly guard?: Guard;
  readonly text: string;
  readonly what: string;
}

interface Subject {
  readonly program: Program;
  readonly guard?: Guard;
  readonly text: string;
}

const useRules = new Set(['use-after-dispose', 'use-after-donate', 'double-donate', 'missing-ref']);

export async function judge(dialect: Dialect, seeds: readonly number[], mutantsEach: number): Promise<Verdicts> {
  const subjects = seeds.flatMap((seed): Subject[] => {
    const program = generate(dialect, seed);
    const random = seeded(seed + 7);
    const all = [...guards(program)];
    const chosen = Array.from({ length: Math.min(mutantsEach, all.length) }, () => all.splice(random.below(all.length), 1)[0]!);
    return [
      { program, text: print(program) },
      ...chosen.map((guard) => ({ program, guard, text: print(program, { without: new Set([guard.id]) }) })),
    ];
  });
  const said = await checkTexts(subjects.map(({ text }) => text));
  const outcomes = new Map<Program, readonly string[]>();
  const byGuard = new Map<string, [number, number]>();
  const alarms: Case[] = [];
  const missed: Case[] = [];
  const unsound: Case[] = [];
  let [mutants, faulty, reported] = [0, 0, 0];
  for (const [index, subject] of subjects.entries()) {
    const reports = faults(said[index]!);
    const done = await runs(subject.program, { without: new Set(subject.guard === undefined ? [] : [subject.guard.id]) });
    const right = outcomes.get(subject.program) ?? done.map(({ out }) => String(out));
    outcomes.set(subject.program, right);
    // An error that the program itself catches shows in its numbers.
    const wrong = done.find((run, at) => run.error !== undefined || run.leaked > 0 || String(run.out) !== right[at]);
    const note = (what: string): Case => ({
      dialect,
      seed: subject.program.seed,
      ...(subject.guard === undefined ? {} : { guard: subject.guard }),
      text: subject.text,
      what,
    });
    if (subject.guard !== undefined) mutants++;
    if (wrong === undefined) {
      if (reports.length > 0) alarms.push(note(`nothing goes wrong in any run, yet: ${words(reports)}`));
      continue;
    }
    if (subject.guard === undefined)
      throw new Error(`the generator's program ${dialect} ${subject.program.seed} goes wrong by itself:\n${subject.text}`);
    faulty++;
    const kind = `${subject.guard.kind} (${wrong.leaked > 0 && wrong.error === undefined ? 'leaks' : 'fails'})`;
    const counts = byGuard.get(kind) ?? [0, 0];
    byGuard.set(kind, counts);
    counts[0]++;
    if (reports.length > 0) {
      reported++;
      counts[1]++;
    } else {
      missed.push(
        note(`not reported: ${wrong.error === undefined ? `${wrong.leaked} leaked` : `line ${wrong.stoppedAt}: ${wrong.error}`}`),
      );
    }
    for (const report of reports.filter(({ rule, message }) => useRules.has(rule) && !/\bmay\b/.test(message))) {
      const passed = done.find((run) => passes(run, report));
      if (passed !== undefined) unsound.push(note(`a run with ${passed.flags.join()} passes this: ${words([report])}`));
    }
  }
  return { programs: seeds.length, mutants, faulty, reported, alarms, missed, unsound, byGuard };
}

const passes = (run: Run, report: Diagnostic): boolean => run.reached.has(report.line) && run.error === undefined && !run.out.includes(-1);

const words = (reports: readonly Diagnostic[]): string =>
  reports.map(({ rule, line, message }) => `${rule} in line ${line}: ${message}`).join('; ');

/** A case as people read it: what is wrong, the forgotten word, the numbered text. */
export function shown({ dialect, seed, guard, text, what }: Case): string {
  const numbered = text
    .trimEnd()
    .split('\n')
    .map((line, index) => `${String(index + 1).padStart(4)}  ${line}`);
  const forgotten =
    guard === undefined ? '' : `; without \`${guard.text === '' ? guard.without : guard.text}\` (${guard.kind} ${guard.id})`;
  return `${dialect} ${seed}${forgotten}: ${what}\n${numbered.join('\n')}\n`;
}
