/**
 * What a hover says of the array under the pointer: a small table of shape, bytes, life, holders, donation and reuse.
 *
 *     `h2` f32[128,512]
 *     bytes     256.0 KiB
 *     alive     line 12 to line 15
 *     memory    updated in place, over `h1` (line 11)
 *
 * Shapes outside of compiled functions come from the walks' ledgers, inside from the traced programs; where neither knows
 * one, the row is left out. Depends on: compiled, memory/analysis, explained, array-life, core, events, lower/ir.
 */
import { avalBytes, printAval, type Aval } from '../../runtime/core/aval.ts';
import { writeBytes } from '../../runtime/core/bytes.ts';
import { isKnown, printDim } from '../../runtime/core/dim.ts';
import { reuseOf, type Reuse } from '../../runtime/events/reuse.ts';
import { reference } from '../compiled/explain.ts';
import type { Life } from '../compiled/ledger.ts';
import { reads, type LoweredFunction, type Local, type Project, type Span, type Unit } from '../lower/ir.ts';
import { spanKey, type Analysis } from '../memory/analysis.ts';
import { find, usesOf, type Found } from './array-life.ts';
import { assignedAt, plannedCalls, variableAt, type PlannedCall } from './explained.ts';

export interface HoverContext {
  readonly project: Project;
  readonly unit: Unit;
  /** Made when it is needed: undefined where walks fail. */
  readonly analysis: () => Analysis | undefined;
  readonly lineOf: (span: Span) => number;
}

/** Programs that are looked through for one hover. */
const mostPrograms = 20;
/** Rows of one kind: what is in a tree of many arrays is told by its largest. */
const mostRows = 4;

export function hoverAt(context: HoverContext, offset: number): string | undefined {
  const found = find(context.unit, offset);
  if (found === undefined) return undefined;
  const fact = found.fn.locals[found.local]!;
  const analysis = context.analysis();
  const lives = analysis === undefined ? [] : livesOf(analysis, found);
  const inside = analysis === undefined ? nothingInside : insideOf(context.project, plannedCalls(analysis, mostPrograms), found);
  const avals = lives.length > 0 ? lives.flatMap(({ aval }) => aval ?? []) : inside.avals;
  const rows = [
    ...bytesRows(avals, fact.type.holds === 'tree'),
    ...lifeRows(found, context.lineOf),
    ...holderRows(found),
    ...freedRows(found, lives, analysis === undefined ? [] : givenAway(analysis, found), context.lineOf),
    ...inside.memory.slice(0, mostRows).map((text) => ['memory', text] as const),
    ...(inside.memory.length > mostRows ? [['', `and ${inside.memory.length - mostRows} more`] as const] : []),
    ...inside.copies.slice(0, mostRows).map((text) => ['copied', text] as const),
  ];
  return [
    `**\`${found.name}\`** ${typeWords(avals, fact.type)}`,
    '',
    '| | |',
    '|:--|:--|',
    ...rows.map(([head, text]) => `| ${head}&nbsp;&nbsp; | ${text.replaceAll('|', '\\|')} |`),
  ].join('\n');
}

/** `f32[128,512]`; of a tree, how many arrays there are; the declared type where no shape is known. */
function typeWords(avals: readonly Aval[], { holds, name }: { readonly holds: string; readonly name?: string }): string {
  const kinds = [...new Set(avals.map(printAval))];
  if (holds === 'tree')
    return avals.length === 0 ? 'holds device arrays' : `holds ${kinds.slice(0, 3).map(code).join(', ')}${kinds.length > 3 ? ' …' : ''}`;
  if (kinds.length > 0) return kinds.slice(0, 3).map(code).join(' or ');
  return `device array${name === undefined ? '' : ` (${code(name)})`}`;
}

const code = (text: string): string => `\`${text}\``;

type Row = readonly [head: string, text: string];

function bytesRows(avals: readonly Aval[], isTree: boolean): readonly Row[] {
  const sizes = avals.map(avalBytes);
  if (sizes.length === 0) return [];
  if (isTree) {
    if (!sizes.every(isKnown)) return [];
    return [
      ['bytes', `${writeBytes(sizes.reduce((sum, one) => sum + one, 0))} in ${avals.length === 1 ? '1 array' : `${avals.length} arrays`}`],
    ];
  }
  return [
    ['bytes', [...new Set(sizes.map((bytes) => (isKnown(bytes) ? writeBytes(bytes) : `${printDim(bytes)} B`)))].slice(0, 3).join(' or ')],
  ];
}

function lifeRows(found: Found, lineOf: HoverContext['lineOf']): readonly Row[] {
  const { born, uses } = usesOf(found);
  const [first, last] = [born[0], uses.at(-1)];
  if (first === undefined) return [];
  const [from, to] = [lineOf(first), last === undefined ? undefined : lineOf(last.span)];
  return [['alive', to === undefined || to === from ? `line ${from}` : `line ${from} to line ${to}`]];
}

/** Other names of the same array here, containers that it was put into, and closures that see it. */
function holderRows({ fn, local, name }: Found): readonly Row[] {
  const same = new Set<Local>([local]);
  const containers = new Set<Local>();
  const holders = new Set<string>();
  for (let before = 0; before !== same.size + containers.size;) {
    before = same.size + containers.size;
    for (const { events } of fn.blocks) {
      for (const event of events) {
        if (event.kind === 'copy' && same.has(event.from)) {
          same.add(event.to);
          const other = fn.locals[event.to]!.name;
          if (other !== undefined && other !== name) holders.add(code(other));
        }
        if ((event.kind === 'object' || event.kind === 'array') && reads(event).some((one) => same.has(one))) containers.add(event.to);
        if (event.kind === 'copy' && containers.has(event.from)) {
          containers.add(event.to);
          const container = fn.locals[event.to]!.name;
          if (container !== undefined) holders.add(code(container));
        }
        if (event.kind === 'setProperty' && same.has(event.from) && event.key.kind === 'name')
          holders.add(code(`${localName(fn, event.object)}.${event.key.name}`));
        if (event.kind === 'setOuter' && same.has(event.from)) holders.add(code(event.variable.name));
      }
    }
  }
  if (fn.locals[local]!.captured) holders.add('a closure');
  return holders.size === 0 ? [] : [['held by', [...holders].slice(0, 6).join(', ')]];
}

/** The name of a local, through the temporaries that reading it makes. */
function localName(fn: LoweredFunction, local: Local): string {
  const fact = fn.locals[local]!;
  if (fact.kind === 'this') return 'this';
  if (fact.name !== undefined) return fact.name;
  for (const { events } of fn.blocks) {
    for (const event of events) {
      if (event.kind === 'copy' && event.to === local && fn.locals[event.from]!.name !== undefined) return fn.locals[event.from]!.name!;
      if (event.kind === 'outer' && event.to === local) return event.variable.name;
    }
  }
  return '…';
}

/** Compiled calls here that the local is passed to and donated by: what a function gives away of what it was given. */
function givenAway({ exploration }: Analysis, { fn, local }: Found): readonly Span[] {
  const events = fn.blocks.flatMap((block) => block.events);
  const same = new Set<Local>([local]);
  for (const event of events) if (event.kind === 'copy' && event.from === local) same.add(event.to);
  const calls = exploration.runs.flatMap((run) => run.calls);
  return events.flatMap((event) =>
    event.kind === 'call' &&
    event.arguments.some(
      (argument, position) =>
        same.has(argument.local) &&
        calls.some(
          ({ span, leaves }) =>
            spanKey(span) === spanKey(event.span) && leaves.some((leaf) => leaf.argument === position && leaf.donated !== undefined),
        ),
    )
      ? [event.span]
      : [],
  );
}

function freedRows(found: Found, lives: readonly Life[], given: readonly Span[], lineOf: HoverContext['lineOf']): readonly Row[] {
  const { uses } = usesOf(found);
  const rows: Row[] = [];
  const linesOf = (how: string): readonly number[] => [...new Set(uses.filter((use) => use.how === how).map(({ span }) => lineOf(span)))];
  const donated = [
    ...new Set([
      ...linesOf('donates'),
      ...given.map(lineOf),
      ...lives.flatMap(({ freed }) => (freed?.how === 'donated' ? [lineOf(freed.at)] : [])),
    ]),
  ];
  if (donated.length > 0) rows.push(['donated', `on line ${donated.join(', ')}`]);
  else if (lives.length > 0) rows.push(['donated', 'no']);
  const freed = linesOf('frees');
  if (found.fn.locals[found.local]!.kind === 'using') rows.push(['freed', 'at the end of its block']);
  else if (freed.length > 0) rows.push(['freed', `on line ${freed.join(', ')}`]);
  return rows;
}

/** Arrays that the local was the first to hold, one of each shape that walks saw. */
function livesOf({ exploration }: Analysis, { fn, local }: Found): readonly Life[] {
  const { span } = fn.locals[local]!;
  if (span === undefined) return [];
  const seen = new Map<string, Life>();
  for (const { ledger } of exploration.runs) {
    for (const life of ledger.lives) {
      if (life.declaration?.file !== span.file || life.declaration.start !== span.start) continue;
      const key = `${life.name ?? ''} ${life.aval === undefined ? '?' : printAval(life.aval)}`;
      if (!seen.has(key) || life.freed?.how === 'donated') seen.set(key, life);
    }
  }
  return [...seen.values()];
}

interface Inside {
  readonly avals: readonly Aval[];
  readonly memory: readonly string[];
  readonly copies: readonly string[];
}

const nothingInside: Inside = { avals: [], memory: [], copies: [] };

/** What compiled programs say of a local of theirs: its arguments by path, what equations assign to it, where that is stored. */
function insideOf(project: Project, planned: readonly PlannedCall[], found: Found): Inside {
  for (const { call, figures } of planned) {
    const asArgument = argumentLeaves(call, found);
    if (asArgument.length > 0) {
      const given = asArgument.filter(({ donated }) => donated !== undefined).length;
      return {
        avals: asArgument.flatMap(({ aval }) => aval ?? []),
        memory: [
          given === 0
            ? 'its own: the caller keeps it'
            : given === asArgument.length
              ? 'donated: the function may write over it'
              : 'partly donated',
        ],
        copies: [],
      };
    }
    const isThis = (place: (typeof figures.places)[number]): boolean => {
      const assigned = place === undefined ? undefined : assignedAt(project, place);
      return assigned !== undefined && assigned.fn.id === found.fn.id && assigned.local === found.local;
    };
    const single = lastAvals(call, isThis);
    if (single.length === 0) continue;
    const variable = { variable: (place: NonNullable<(typeof figures.places)[number]>) => variableAt(project, place) };
    const own = figures.values.flatMap((value, i) => (value.role === undefined && isThis(figures.places[value.place]) ? [i] : []));
    // A tree holds all that was assigned to it, as far as it is stored.
    const isTree = found.fn.locals[found.local]!.type.holds === 'tree' && own.length > 0;
    const avals = isTree ? own.map((i): Aval => ({ shape: figures.values[i]!.shape, dtype: figures.values[i]!.dtype })) : single;
    const memory = own.flatMap((i) => {
      const reuse = reuseOf(figures.values, i);
      return reuse === undefined ? [] : [`${words[reuse.kind]} ${inCode(reference(figures, reuse.of, variable))}`];
    });
    const copies = figures.copies
      .filter(({ place }) => isThis(figures.places[place]))
      .map(({ bytes, reason }) => `${writeBytes(bytes)}: ${reason}`);
    return {
      avals,
      memory: own.length === 0 ? ['none of its own: computed inside of the kernels that read it'] : [...new Set(memory)],
      copies,
    };
  }
  return nothingInside;
}

const words: Readonly<Record<Reuse['kind'], string>> = {
  inPlace: 'updated in place, over',
  takesOver: 'takes over the buffer of',
  space: 'reuses the space of',
};

/** `h1 (line 12)` with the name as code. */
const inCode = (text: string): string =>
  text.replace(/^(gradient of )?(\S+)/, (_, role: string | undefined, name: string) => `${role ?? ''}\`${name}\``);

/** The leaves of an argument, where the local is a parameter of the compiled function itself. */
function argumentLeaves({ leaves, function: { target } }: PlannedCall['call'], { fn, local }: Found): PlannedCall['call']['leaves'] {
  if (target !== fn.id || fn.locals[local]!.kind !== 'parameter') return [];
  const position = fn.parameters.findIndex((parameter) => parameter.local === local);
  return leaves.filter(({ argument, aval }) => argument === position && aval !== undefined);
}

/** Of the equations in a row that are assigned to it, the last says what it holds: of a loop, one for each round. */
function lastAvals(
  { traced }: PlannedCall['call'],
  isThis: (place: Parameters<typeof assignedAt>[1] | undefined) => boolean,
): readonly Aval[] {
  const found = new Map<string, Aval>();
  let last: Aval | undefined;
  const keep = (): void => {
    if (last !== undefined) found.set(printAval(last), last);
    last = undefined;
  };
  for (const { place, outputs, role } of traced?.program.equations ?? []) {
    if (role === undefined && isThis(place)) last = outputs[0]?.aval;
    else keep();
  }
  keep();
  return [...found.values()];
}
