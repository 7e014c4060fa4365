/**
 * `tidemark explain`: each compiled function of a program, stage by stage: what was traced, what is left of it, what runs, where it all lies.
 *
 * The program runs in the child on the device that has memory events and no memory, which says what it calls and what that
 * needs; nothing is computed, and results read there are worth nothing. The stages come from the analysis of the text;
 * where that can't follow, the plan is that of the run, and the others say why they are missing.
 * Depends on: measure, compiled/explain, workspace, args, text.
 */
import { dirname, join, relative, resolve } from 'node:path';
import type { Event, Frame, ProgramProfile } from '../../runtime/events/event.ts';
import { planText } from '../compiled/explain.ts';
import { measuredFigures } from '../compiled/measured.ts';
import { profile as measure } from '../measure/run.ts';
import type { Cancellation } from '../measure/run.ts';
import { readRun } from '../measure/stream.ts';
import { explainStages } from '../protocol.ts';
import type { ExplainStage, Explanation, FunctionReport } from '../protocol.ts';
import { createWorkspace } from '../workspace.ts';
import { helpText, readArguments, readSeconds } from './args.ts';
import type { OptionTable } from './args.ts';
import { exitCodes, refusal, UsageError } from './io.ts';
import type { IO } from './io.ts';
import { paint } from './text.ts';
import type { Paint } from './text.ts';

const options: OptionTable = {
  function: { value: 'NAME', help: 'only the function of this name' },
  stage: { value: 'STAGE', help: 'trace, ir, schedule or plan (default: all)', oneOf: explainStages },
  timeout: { value: 'S', help: 'stop the program after S seconds' },
  help: { help: 'show this' },
};

/** In the order in which they are made. */
const stagesInOrder: readonly ExplainStage[] = ['trace', 'ir', 'schedule', 'plan'];

const titles: Readonly<Record<ExplainStage, string>> = {
  trace: 'every operation, in its order, with its line',
  ir: 'the same without what nobody needs',
  schedule: 'the kernels in the order in which they run',
  plan: 'every stored value: its bytes, its life, its place',
};

export async function explainCommand(argv: readonly string[], io: IO, token: Cancellation): Promise<number> {
  const args = readArguments('explain', options, argv);
  if (args.has('help')) {
    io.out(
      helpText(
        'tidemark explain FILE [--function NAME] [--stage STAGE] [-- ARGS…]',
        'Runs a program without computing anything, and shows trace, IR, schedule and plan of its compiled functions.',
        options,
      ),
    );
    return exitCodes.fine;
  }
  const [entry, ...others] = args.positional;
  if (entry === undefined || others.length > 0)
    throw new UsageError(`one file is explained, and ${args.positional.length} were given`, 'tidemark explain FILE');
  const timeout = args.value('timeout');
  const result = await measure(
    {
      entry,
      args: args.rest ?? [],
      cwd: io.cwd,
      env: { ...io.env, TIDEMARK_DEVICE: 'null' },
      stdout: 2,
      stderr: 2,
      ...(timeout === undefined ? {} : { timeoutMs: readSeconds('--timeout', timeout) * 1000 }),
    },
    token,
  );
  if (result.report === null || result.events === null) throw refusal(result.message);
  try {
    const ran = await programsOf(result.events);
    const wanted = args.value('function');
    const compiled = result.report.functions.filter((one) => one.jit !== null && (wanted === undefined || one.name === wanted));
    if (compiled.length === 0 && result.state === 'done') throw nothingToExplain(entry, wanted, result.report.functions);
    const draw = paint(io.color);
    const stages = stagesInOrder.filter((stage) => (args.value('stage') ?? stage) === stage);
    const workspace = createWorkspace({ cwd: io.cwd });
    for (const one of compiled) {
      const file = resolve(io.cwd, one.file);
      const explanation = await workspace.explain({ isCancelled: token.isCancellationRequested }, file, one);
      io.out(explanationText(one, stages, { explanation, plan: ran.planOf(one), cwd: io.cwd }, draw));
    }
    if (result.state === 'done') return exitCodes.fine;
    io.err(`${draw('red', 'error')}: ${result.message}\n`);
    return exitCodes.failed;
  } finally {
    result.release();
  }
}

function nothingToExplain(entry: string, wanted: string | undefined, functions: readonly FunctionReport[]): UsageError {
  const known = functions.filter((one) => one.jit !== null).map(({ name }) => name);
  return new UsageError(
    wanted === undefined ? `${entry} ran and called no compiled function` : `${entry} called no compiled function \`${wanted}\``,
    known.length > 0 ? `it called ${known.join(', ')}` : 'explain a file that calls a function made by `jit`',
  );
}

interface Ran {
  /** The plan of the program that was compiled for the function; of several the one with the highest peak. */
  planOf(one: FunctionReport): string | undefined;
}

async function programsOf(events: string): Promise<Ran> {
  const places = new Map<number, readonly Frame[]>();
  const profiles: ProgramProfile[] = [];
  for await (const event of readRun(events)) take(event);
  return {
    planOf({ name, jit }) {
      const profile = profiles.find(
        ({ peakBytes, argumentBytes, steps }) => peakBytes === jit?.peakBytes && argumentBytes === jit.argumentBytes && steps > 0,
      );
      const context = { name, file: (file: string) => file, variable: () => undefined };
      return profile === undefined ? undefined : planText(measuredFigures(profile, places), context);
    },
  };

  function take(event: Event): void {
    if (event.kind === 'place') places.set(event.id, event.frames);
    if (event.kind === 'program') profiles.push(event.profile);
  }
}

interface Sources {
  readonly explanation: Explanation | undefined;
  readonly plan: string | undefined;
  readonly cwd: string;
}

function explanationText(one: FunctionReport, stages: readonly ExplainStage[], { explanation, plan, cwd }: Sources, draw: Paint): string {
  const head = `${draw('bold', one.name)} ${draw('dim', `${one.file}:${one.line}`)}\n`;
  // The analysis writes files as seen from the function's own folder; a terminal follows them from here.
  const folder = dirname(resolve(cwd, one.file));
  const fromHere = (text: string): string =>
    text.replace(/[^\s"'`(]+(?=:\d+:\d+)/g, (file) => relative(cwd, join(folder, file)).replaceAll('\\', '/'));
  const parts = stages.map((stage) => {
    const known = explanation?.stages[stage];
    const text =
      known !== undefined && known !== null
        ? fromHere(known)
        : stage === 'plan' && plan !== undefined
          ? plan
          : `not known from the text alone: ${explanation?.why ?? 'no compiled function of this name is in the file'}\n`;
    return `${draw('bold', stage)} ${draw('dim', titles[stage])}\n\n${text.trimEnd().replace(/^(?=.)/gm, '  ')}\n`;
  });
  return [head, ...parts, ''].join('\n');
}
