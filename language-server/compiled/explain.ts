/**
 * A compiled function as people read it, stage by stage: what was traced, what is left of it, what runs, where it all lies.
 *
 *     trace      every operation of the function, in its order, with its line
 *     ir         the same without what nobody needs
 *     schedule   the kernels in the order in which they run, and what each reads and writes
 *     plan       every stored value: bytes, life, place, and whose bytes it has
 *
 * Lines are written `file:line:column`, so that an editor can make links of them. Depends on: core, ir, compile, events,
 * plan, jitted.
 */
import { printAval } from '../../runtime/core/aval.ts';
import { writeBytes } from '../../runtime/core/bytes.ts';
import type { Program } from '../../runtime/core/program.ts';
import type { Place } from '../../runtime/core/source.ts';
import { flatten, simplify } from '../../runtime/compile/simplify.ts';
import type { Analysis, Executable, Location, Step } from '../../runtime/compile/executable.ts';
import type { ProgramProfile } from '../../runtime/events/event.ts';
import { countReuse, reuseOf } from '../../runtime/events/reuse.ts';
import { printProgram } from '../../runtime/ir/print.ts';
import type { Entry } from '../../runtime/ops/apply.ts';
import type { Op } from '../../runtime/ops/op.ts';
import type { Leaf } from './jitted.ts';
import { planOf } from './plan.ts';

export interface Explained {
  readonly trace: string;
  readonly ir: string;
  readonly schedule: string;
  readonly plan: string;
}

export interface ExplainContext {
  /** The name that people know the function by. */
  readonly name: string;
  /** How a file is written. */
  readonly file: (file: string) => string;
  /** The variable that gets what a line makes, where there is one. */
  readonly variable: (place: Place) => string | undefined;
}

/** Figures of a program, planned or measured: `places` is what its place numbers stand for. */
export interface Figures extends ProgramProfile {
  readonly places: readonly (Place | undefined)[];
}

type StoredValue = ProgramProfile['values'][number];

/** Undefined when the program can't be planned. */
export function explain(program: Program<Entry>, leaves: readonly Leaf[], context: ExplainContext): Explained | undefined {
  const executable = planOf(program, leaves)?.executable(leaves.map(({ donated }) => donated !== undefined));
  if (executable === undefined) return undefined;
  const flat = simplify(flatten(program as unknown as Program<Op>));
  const named = { ...program, name: context.name };
  return {
    trace: `${argumentsText(leaves)}\n\n${withFiles(printProgram(named, { places: true }), context)}\n`,
    ir: `${argumentsText(leaves)}\n\n${withFiles(
      printProgram({ ...named, inputs: flat.inputs, captures: [], equations: flat.equations, outputs: flat.outputs }, { places: true }),
      context,
    )}\n`,
    schedule: scheduleText(executable, context),
    plan: planText(figuresOf(executable.analysis), context),
  };
}

export const figuresOf = ({ recomputed: _recomputed, ...figures }: Analysis): Figures => figures;

/** The letters of a printed program, by the arguments that people passed. */
function argumentsText(leaves: readonly Leaf[]): string {
  const rows = leaves.map(({ path, aval, donated }, i) => [
    letters(i),
    path,
    aval === undefined ? '' : printAval(aval),
    donated === undefined ? '' : 'donated',
  ]);
  return columns(rows, new Set());
}

const letters = (index: number): string => {
  const last = String.fromCharCode(97 + (index % 26));
  return index < 26 ? last : letters(Math.floor(index / 26) - 1) + last;
};

const withFiles = (text: string, { file }: ExplainContext): string =>
  text.replace(/ {2}# (.+?):(\d+):(\d+)/g, (_, path: string, line: string, column: string) => `  # ${file(path)}:${line}:${column}`);

/** What a stored value is called: its argument's path, its variable, or its number. */
export function nameOf(
  { places, argumentPaths, values }: Pick<Figures, 'places' | 'argumentPaths' | 'values'>,
  index: number,
  { variable }: Pick<ExplainContext, 'variable'>,
): string {
  const value = values[index]!;
  if (value.what === 'argument') return argumentPaths[index] ?? `constant ${index - argumentPaths.length}`;
  const place = places[value.place];
  const name = place === undefined ? undefined : variable(place);
  return name === undefined ? `#${index}` : `${value.role === 'gradient' ? 'gradient of ' : ''}${name}`;
}

function placeText({ places }: Pick<Figures, 'places'>, value: StoredValue, { file }: ExplainContext): string {
  const place = places[value.place];
  return place === undefined ? '' : `${file(place.file)}:${place.line}:${place.column}`;
}

const dtypeText = (dtype: string): string =>
  dtype
    .replace(/^float/, 'f')
    .replace(/^uint/, 'u')
    .replace(/^int/, 'i');
const arrayText = ({ dtype, shape }: StoredValue): string => `${dtypeText(dtype)}[${shape.join(',')}]`;

/** Where a value lies, in the words of the figures above it. */
function regionText({ region, offset }: StoredValue, { argumentPaths }: Pick<Figures, 'argumentPaths'>): string {
  if (region === undefined) return '';
  const base = region === 0 ? 'arena' : (argumentPaths[region - 1] ?? `constant ${region - 1 - argumentPaths.length}`);
  return offset === undefined || offset === 0 ? base : `${base} + ${writeBytes(offset)}`;
}

export function planText(analysis: Figures, context: ExplainContext): string {
  const { values, steps } = analysis;
  const rows = values.map((value, i) => {
    const reuse = reuseOf(values, i);
    return [
      `#${i}`,
      nameOf(analysis, i, context).replace(/^#\d+$/, ''),
      arrayText(value),
      writeBytes(value.bytes),
      bar(value, steps),
      `${placeText(analysis, value, context)}${value.role === undefined ? '' : ` ${value.role}`}`,
      reuse === undefined ? '' : `${reuseWords[reuse.kind]} ${reference(analysis, reuse.of, context)}`,
      value.what === 'argument' ? 'its own buffer' : regionText(value, analysis),
    ];
  });
  const head = ['', 'value', 'array', 'bytes', `alive, of ${steps} steps`, 'made at', 'reuse', 'lies in'];
  return `${figuresText(analysis, context)}\n\n${columns([head, ...rows], new Set([3]))}\n`;
}

const reuseWords = { inPlace: 'updated in place, over', takesOver: 'takes over', space: 'reuses the space of' } as const;

/** `h1 (line 12)`, so that it is found in the text. */
export function reference(
  analysis: Pick<Figures, 'places' | 'argumentPaths' | 'values'>,
  index: number,
  context: Pick<ExplainContext, 'variable'>,
): string {
  const place = analysis.places[analysis.values[index]!.place];
  const name = nameOf(analysis, index, context);
  return place === undefined ? name : `${name} (line ${place.line})`;
}

function figuresText(analysis: Figures, { file }: ExplainContext): string {
  const { argumentBytes, outputBytes, aliasBytes, tempBytes, peakBytes, lowerBoundBytes, gap, copies, donated, whatIf, places } = analysis;
  const { inPlace, space } = countReuse(analysis.values);
  return columns(
    [
      ['arguments', writeBytes(argumentBytes)],
      ['outputs', `${writeBytes(outputBytes)}, of which ${writeBytes(aliasBytes)} take over donated arguments`],
      ['temporaries', writeBytes(tempBytes)],
      ['peak', `${writeBytes(peakBytes)}; no plan of this order needs less than ${writeBytes(lowerBoundBytes)}`],
      ['lost', `${writeBytes(gap.packing)} to packing, ${writeBytes(gap.outputs)} to outputs, ${writeBytes(gap.copies)} to copies`],
      ['reuse', `${inPlace} of ${analysis.values.length} values updated in place, ${space} in the space of a dead one`],
      ...donated.map(({ path, bytes, outcome, reason }) => [
        'donated',
        `${path} (${writeBytes(bytes)}): ${outcomes[outcome]}${reason === null ? '' : `; ${reason}`}`,
      ]),
      ...copies.map(({ bytes, place, reason }) => {
        const at = places[place];
        return ['copied', `${writeBytes(bytes)}${at === undefined ? '' : ` at ${file(at.file)}:${at.line}:${at.column}`}: ${reason}`];
      }),
      ...whatIf
        .filter((one) => writeBytes(one.peakBytes) !== writeBytes(peakBytes))
        .map((one) => ['what if', `donateArgnums: [${one.donateArgnums.join(', ')}], peak ${writeBytes(one.peakBytes)}`]),
    ],
    new Set(),
  );
}

const outcomes = { aliased: 'an output takes it over', freedEarly: 'freed at its last use', unusable: 'of no use' } as const;

const barCells = 24;

/** A life as a bar over the steps of the schedule: `··━━━━━━━·····`. */
function bar({ born, dies }: StoredValue, steps: number): string {
  if (steps === 0) return '';
  const scale = Math.min(1, barCells / steps);
  const cells = Math.max(1, Math.round(steps * scale));
  const from = Math.min(cells - 1, Math.floor(born * scale));
  const to = Math.max(from + 1, Math.min(cells, Math.ceil(dies * scale)));
  return `${'·'.repeat(from)}${'━'.repeat(to - from)}${'·'.repeat(cells - to)}`;
}

function scheduleText(executable: Executable, context: ExplainContext): string {
  const { analysis, kernels, steps } = executable;
  const names = new Map(kernels.map(({ key }, i) => [key, `k${i}`]));
  // Each step of the schedule is one launch or one loop; only then do births say which value a step makes.
  const aligned = steps.length === analysis.steps;
  const rows = steps.flatMap((step, at) => stepRows(executable, step, { at: aligned ? at : undefined, names, context, indent: '' }));
  const listing = kernels.map(({ key, name }) => `${names.get(key)!} ${name}: ${key.replaceAll('\n', '\n     ')}`);
  return `${columns([['step', 'kernel', 'reads', 'writes', 'for'], ...rows], new Set([0]))}\n\n${listing.join('\n')}\n`;
}

interface StepContext {
  readonly at: number | undefined;
  readonly names: ReadonlyMap<string, string>;
  readonly context: ExplainContext;
  readonly indent: string;
}

function stepRows(executable: Executable, step: Step, around: StepContext): readonly (readonly string[])[] {
  const { at, names, context, indent } = around;
  const number = at === undefined ? '' : String(at);
  const inside = (steps: readonly Step[]): readonly (readonly string[])[] =>
    steps.flatMap((one) => stepRows(executable, one, { ...around, at: undefined, indent: `${indent}  ` }));
  const row = (what: string): readonly string[] => [number, `${indent}${what}`, '', '', madeAt(executable, at, context)];
  switch (step.kind) {
    case 'launch': {
      const { kernel } = step;
      const text =
        (what: 'reads' | 'writes') =>
        (location: Location): string =>
          locationText(executable, location, { at, what }, context);
      const reads = step.at.slice(0, kernel.operands.length).map(text('reads'));
      const writes = step.at.slice(kernel.operands.length).map(text('writes'));
      return [
        [number, `${indent}${names.get(kernel.key)!} ${kernel.name}`, reads.join(', '), writes.join(', '), madeAt(executable, at, context)],
      ];
    }
    case 'loop':
      return [row(`loop ${step.loop} × ${step.length}`), ...inside(step.body)];
    case 'while':
      return [row('while'), ...inside(step.condition), ...inside(step.body)];
    case 'choice':
      return step.branches.flatMap((branch, i) => [row(`branch ${i}`), ...inside(branch)]);
  }
}

/** The line for which a step runs: that of the value that it makes. */
function madeAt({ analysis }: Executable, step: number | undefined, context: ExplainContext): string {
  if (step === undefined) return '';
  const made = analysis.values.find(({ born, what }) => born === step && what !== 'argument');
  return made === undefined ? '' : placeText(analysis, made, context);
}

/** The value that lies there while the step runs, else the place alone. */
function locationText(
  { analysis }: Executable,
  { region, offset, strides }: Location,
  { at, what }: { readonly at: number | undefined; readonly what: 'reads' | 'writes' },
  context: ExplainContext,
): string {
  const { values, argumentPaths } = analysis;
  // The youngest value there: where one is updated in place, a step reads the old and writes the new.
  const index = values.findLastIndex(
    (value) =>
      at !== undefined &&
      value.region === region &&
      value.offset === offset &&
      (what === 'writes' ? value.born === at && value.what !== 'argument' : value.what === 'argument' || value.born < at),
  );
  if (index >= 0) {
    const name = nameOf(analysis, index, context);
    return values[index]!.what === 'argument' || name.startsWith('#') ? name : `${name} #${index}`;
  }
  const base = region === 0 ? 'arena' : (argumentPaths[region - 1] ?? `constant ${region - 1 - argumentPaths.length}`);
  const stride = (strides ?? []).map(({ loop, bytes }) => ` + ${writeBytes(bytes)} per round of loop ${loop}`).join('');
  return `${base}${offset === 0 ? '' : ` + ${writeBytes(offset)}`}${stride}`;
}

function columns(rows: readonly (readonly string[])[], right: ReadonlySet<number>): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (right.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
