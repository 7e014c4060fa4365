/**
 * `tidemark explain`: the plan of each compiled function of a program: what it stores, how long, where, and why it can't be less.
 *
 * The program runs in the child on the device that has memory events and no memory, so nothing is computed and results
 * read there are worth nothing. Depends on: measure, args, text.
 */
import type { Event, Frame, ProgramProfile } from '../../runtime/events/event.ts';
import { siteOf } from '../../runtime/events/by-site.ts';
import { profile as measure } from '../measure/run.ts';
import type { Cancellation } from '../measure/run.ts';
import { readRun } from '../measure/stream.ts';
import type { FunctionReport } from '../protocol.ts';
import { helpText, readArguments } from './args.ts';
import type { OptionTable } from './args.ts';
import { exitCodes, UsageError } from './io.ts';
import type { IO } from './io.ts';
import { bytesText, paint, tableText } from './text.ts';
import type { Paint } from './text.ts';

const options: OptionTable = {
  function: { value: 'NAME', help: 'only the function of this name' },
  help: { help: 'show this' },
};

export async function explainCommand(argv: readonly string[], io: IO, token: Cancellation): Promise<number> {
  const args = readArguments('explain', options, argv);
  if (args.has('help')) {
    io.out(
      helpText(
        'tidemark explain FILE [--function NAME] [-- ARGS…]',
        'Runs a program without computing anything, and shows the plan of its compiled functions.',
        options,
      ),
    );
    return exitCodes.fine;
  }
  const [entry, ...others] = args.positional;
  if (entry === undefined || others.length > 0)
    throw new UsageError(`one file is explained, and ${args.positional.length} were given`, 'tidemark explain FILE');
  const result = await measure(
    { entry, args: args.rest ?? [], cwd: io.cwd, env: { ...io.env, TIDEMARK_DEVICE: 'null' }, stdout: 2, stderr: 2 },
    token,
  );
  if (result.report === null || result.events === null) throw new UsageError(result.message ?? 'the program could not be run', 'see above');
  try {
    const places = new Map<number, readonly Frame[]>();
    const programs: Extract<Event, { kind: 'program' }>[] = [];
    for await (const event of readRun(result.events)) {
      if (event.kind === 'place') places.set(event.id, event.frames);
      if (event.kind === 'program') programs.push(event);
    }
    const wanted = args.value('function');
    const compiled = result.report.functions.filter((one) => one.jit !== null && (wanted === undefined || one.name === wanted));
    if (compiled.length === 0 && result.state === 'done') {
      const known = result.report.functions.filter((one) => one.jit !== null).map(({ name }) => name);
      throw new UsageError(
        wanted === undefined ? `${entry} ran and called no compiled function` : `${entry} called no compiled function \`${wanted}\``,
        known.length > 0 ? `it called ${known.join(', ')}` : 'explain a file that calls a function made by `jit`',
      );
    }
    const draw = paint(io.color);
    for (const one of compiled) {
      const program = programs.find(
        ({ profile }) => profile.peakBytes === one.jit!.peakBytes && profile.argumentBytes === one.jit!.argumentBytes && profile.steps > 0,
      );
      io.out(`${explanation(one, program?.profile, places, draw)}\n`);
    }
    if (result.state === 'done') return exitCodes.fine;
    io.err(`${draw('red', 'error')}: ${result.message}\n`);
    return exitCodes.failed;
  } finally {
    result.release();
  }
}

function explanation(
  one: FunctionReport,
  profile: ProgramProfile | undefined,
  places: ReadonlyMap<number, readonly Frame[]>,
  draw: Paint,
): string {
  const jit = one.jit!;
  const figures: readonly (readonly string[])[] = [
    ['arguments', bytesText(jit.argumentBytes)],
    ['outputs', `${bytesText(jit.outputBytes)}, of which ${bytesText(jit.aliasBytes)} take over donated arguments`],
    ['temporaries', bytesText(jit.tempBytes)],
    ['peak', `${bytesText(jit.peakBytes)}; no plan of this order can need less than ${bytesText(jit.lowerBoundBytes)}`],
    ['lost', `${bytesText(jit.gap.packing)} to packing, ${bytesText(jit.gap.outputs)} to outputs, ${bytesText(jit.gap.copies)} to copies`],
    ...jit.donated.map(({ path, bytes, outcome, reason }) => [
      'donated',
      `${path} (${bytesText(bytes)}): ${outcomes[outcome]}${reason === null ? '' : `, ${reason}`}`,
    ]),
    ...jit.copies.map(({ bytes, file, line, reason }) => ['copy', `${bytesText(bytes)} at ${file}:${line}: ${reason}`]),
    ...jit.whatIf.map(({ donateArgnums, peakBytes }) => [
      'what if',
      `donateArgnums [${donateArgnums.join(', ')}]: peak ${bytesText(peakBytes)}`,
    ]),
  ];
  const head = `${draw('bold', one.name)} ${draw('dim', `${one.file}:${one.line}`)}`;
  return [
    head,
    tableText(figures, new Set()).replace(/^/gm, '  '),
    profile === undefined ? '' : valuesText(profile, places, draw),
    '',
  ].join('\n');
}

const outcomes = { aliased: 'an output takes it over', freedEarly: 'freed at its last use', unusable: 'of no use' } as const;

/** What the program stores, in order of birth: a line of code, its life in steps, its place in memory. */
function valuesText(profile: ProgramProfile, places: ReadonlyMap<number, readonly Frame[]>, draw: Paint): string {
  const rows = profile.values.map((value, i) => {
    const { file, line } = siteOf(places, value.place);
    const where = value.region === undefined ? '' : `${value.region === 0 ? 'arena' : `region ${value.region}`} + ${value.offset ?? 0}`;
    const reuse = value.reuses === undefined ? '' : `in place of ${value.reuses}`;
    return [
      String(i),
      value.what + (value.role === undefined ? '' : ` (${value.role})`),
      `${value.dtype}[${value.shape.join(',')}]`,
      bytesText(value.bytes),
      `${value.born}–${value.dies}`,
      where,
      reuse,
      places.has(value.place) ? `${file}:${line}` : '',
    ];
  });
  const header = ['', 'what', 'array', 'bytes', 'alive', 'lies in', '', 'line'];
  return tableText([header, ...rows], new Set([0, 3]))
    .replace(/^/gm, '  ')
    .replace(/^.*$/m, (text) => draw('dim', text));
}
