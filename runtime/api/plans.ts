/**
 * Better plans than the one at once: searched for between tasks, taken on at the next call, remembered by program.
 *
 * A call never waits for a search unless it was asked to. What is found for a program holds for every later trace of the
 * same one, so it is kept under the program's text. The timer keeps no process alive.
 * Depends on: core, ir, compile, execute.
 */
import type { Program } from '../core/program.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { printProgram } from '../ir/print.ts';
import type { Better, Executable } from '../compile/executable.ts';
import type { Choice } from '../compile/layout.ts';
import { compileProgram, type PlanOptions } from './execute.ts';

/** Work in one turn, so that nobody notices it. */
const turnMs = 4;
/** How often the search for one program is asked before it is given up; each time is a few milliseconds at most. */
const looks = 300;
const mostRemembered = 500;

interface Search {
  readonly executable: Executable;
  readonly steps: Generator<Better | undefined, void>;
  readonly adopt: (better: Better) => void;
  left: number;
}

const remembered = new Map<string, Choice>();
const searches: Search[] = [];
let due = false;

const keyOf = (program: Program, donated: readonly boolean[]): string =>
  `${donated.map((flag) => (flag ? '!' : '.')).join('')} ${printProgram(program)}`;

/** Compiles by the best plan that is known of the program. */
export function compilePlanned(program: TracedProgram, donated: readonly boolean[], options: PlanOptions): Executable {
  // With a budget another program is planned: one that computes some values twice.
  if (options.memoryBudget !== undefined) return compileProgram(program, donated, options);
  const choice = remembered.size === 0 ? undefined : remembered.get(keyOf(program as Program, donated));
  const executable = compileProgram(program, donated, { ...options, ...(choice === undefined ? {} : { choice }) });
  if (options.memory === 'min') remember(executable, executable.choice);
  return executable;
}

function remember({ program, donated }: Executable, choice: Choice): void {
  const key = keyOf(program, donated.slice(0, program.inputs.length));
  remembered.delete(key);
  remembered.set(key, choice);
  if (remembered.size > mostRemembered) remembered.delete(remembered.keys().next().value!);
}

/** Looks for a better plan when nothing else is to do; `adopt` gets each that is found. */
export function searchLater(executable: Executable, adopt: (better: Better) => void): void {
  searches.push({ executable, steps: executable.better(), adopt, left: looks });
  soon();
}

/** Searches that are under way. */
export const searching = (): number => searches.length;

function soon(): void {
  if (due || searches.length === 0) return;
  due = true;
  const timer: unknown = setTimeout(turn, 0);
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') timer.unref();
}

function turn(): void {
  due = false;
  const end = performance.now() + turnMs;
  while (searches.length > 0 && performance.now() < end) {
    const search = searches[0]!;
    const step = search.steps.next();
    if (step.done === true || --search.left <= 0) searches.shift();
    if (step.done === true || step.value === undefined) continue;
    remember(search.executable, step.value.choice);
    search.adopt(step.value);
  }
  soon();
}
