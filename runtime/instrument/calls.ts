/**
 * Counts the calls of the person's functions, and puts positions in rewritten files back where they were.
 *
 * The added code of a module hands its table over before its first line runs. From then on a frame in that file gets its
 * place in the text before the additions, and the beginning of its function as the scan found it: so the frames of an
 * allocation and the counter of a function name the same function. Depends on: events, recorder, rewrite.
 */
import type { Event, Frame } from '../events/event.ts';
import { counterName, positionsOf, siteName, tableName } from './rewrite.ts';
import type { FunctionEntry, Positions, RewriteTable } from './rewrite.ts';

export interface Calls {
  /** The frame as it would be without the additions, and the counted function it lies in. */
  settle(frame: Frame): Frame;
  /** A settled frame with those that its function is written in: what a traced line ran under. */
  around(frame: Frame): readonly Frame[];
  /** The counted function that a settled frame lies in. */
  functionOf(frame: Frame): Counted | undefined;
  /** A settled frame whose function nobody counts: one cannot tell whether it was called again. */
  isUncounted(frame: Frame): boolean;
  /** The function was called again since `enter` last met it. */
  reentered(own: Counted): boolean;
  /** Writes an `enter` for each function of a stack that was called again since it was last seen allocating. */
  enter(functions: readonly (Counted | undefined)[]): void;
  /** Writes the counts that changed. */
  flush(): void;
  /** Rises with every call of a counted function: while it stays, no other function was entered. */
  readonly total: number;
  /** How often a function was called so far. */
  countOf(own: Counted): number;
  /** The site whose call this is, asked once by what it calls; undefined when nobody announced it. */
  takeSite(): number | undefined;
  /** How often the function `name` of `file` was called; undefined when the file isn't counted or has no such function. */
  callsOf(file: string, name: string): number | undefined;
}

export interface CallsOptions {
  emit(event: Event): void;
  now(): number;
  nextId(): number;
}

/** Counters beyond these are not kept; a program has fewer functions of its own. */
export const mostFunctions = 1 << 16;

/** A function of the person's, and what was written of it. */
export interface Counted {
  readonly entry: FunctionEntry;
  readonly file: string;
  place: number | undefined;
  name: string;
  written: number;
  entered: number;
}

export function watchCalls(target: object, { emit, now, nextId }: CallsOptions): Calls {
  const counts = new Float64Array(mostFunctions);
  const files = new Map<string, { readonly positions: Positions; readonly counted: ReadonlyMap<number, Counted> }>();
  const ofFrame = new WeakMap<Frame, Counted>();
  const uncounted = new WeakSet<Frame>();
  const all: Counted[] = [];
  // What the names of a module hold is reachable from here for as long as the program runs.
  const scopes: unknown[] = [];

  function addTable(file: string, table: RewriteTable, scope: unknown): void {
    scopes.push(scope);
    const counted = new Map(
      table.functions.map((entry): [number, Counted] => [
        entry.id,
        { entry, file, place: undefined, name: entry.name, written: 0, entered: 0 },
      ]),
    );
    files.set(file, { positions: positionsOf(table), counted });
    all.push(...counted.values());
  }

  let total = 0;

  function count(id: number): void {
    counts[id]! += 1;
    total += 1;
  }

  let site: number | undefined;

  function announce(id: number, argument: unknown): unknown {
    site = id;
    return argument;
  }

  Object.defineProperty(target, counterName, { value: count });
  Object.defineProperty(target, siteName, { value: announce });
  Object.defineProperty(target, tableName, { value: addTable });

  function placeOf(one: Counted): number {
    if (one.place !== undefined) return one.place;
    const [line, column] = one.entry.start;
    one.place = nextId();
    emit({
      kind: 'place',
      id: one.place,
      frames: [
        { file: one.file, line, column, functionLine: line, functionColumn: column, ...(one.name === '' ? {} : { function: one.name }) },
      ],
    });
    return one.place;
  }

  return {
    get total() {
      return total;
    },
    countOf: ({ entry }) => counts[entry.id]!,
    takeSite() {
      const announced = site;
      site = undefined;
      return announced;
    },
    settle(frame) {
      const known = files.get(frame.file);
      if (known === undefined || frame.library !== undefined) return frame;
      const [line, column] = known.positions.original(frame.line, frame.column);
      const entry = known.positions.functionAt(line, column);
      const { functionLine: _line, functionColumn: _column, ...rest } = frame;
      if (entry === undefined) {
        const outside = { ...rest, line, column };
        // To V8 the module itself is a function that begins where its text does.
        if ((frame.functionLine ?? 1) > 1 || (frame.functionColumn ?? 1) > 1) uncounted.add(outside);
        return outside;
      }
      const counted = known.counted.get(entry.id)!;
      // V8 knows the class of a method, and the name that a function was given later.
      if (frame.function !== undefined && isNameOf(frame.function, entry)) counted.name = frame.function;
      const named = counted.name === '' ? {} : { function: counted.name };
      const settled = { ...rest, ...named, line, column, functionLine: entry.start[0], functionColumn: entry.start[1] };
      ofFrame.set(settled, counted);
      return settled;
    },
    around(frame) {
      const known = files.get(frame.file);
      if (known === undefined || frame.library !== undefined) return [frame];
      const [own, ...outer] = known.positions.functionsAt(frame.line, frame.column);
      const frames = outer.map((entry): Frame => {
        const { name } = known.counted.get(entry.id)!;
        return {
          file: frame.file,
          line: frame.line,
          column: frame.column,
          functionLine: entry.start[0],
          functionColumn: entry.start[1],
          ...(name === '' ? {} : { function: name }),
          ...(entry.compiled ? { compiled: true } : {}),
        };
      });
      return [own?.compiled === true ? { ...frame, compiled: true } : frame, ...frames];
    },
    functionOf: (frame) => ofFrame.get(frame),
    isUncounted: (frame) => uncounted.has(frame),
    reentered: (own) => counts[own.entry.id] !== own.entered,
    enter(functions) {
      for (const counted of functions) {
        if (counted === undefined) continue;
        const count = counts[counted.entry.id]!;
        if (count === counted.entered) continue;
        counted.entered = count;
        if (counted.name !== '') emit({ kind: 'enter', at: now(), name: counted.name, place: placeOf(counted) });
      }
    },
    flush() {
      for (const one of all) {
        const calls = counts[one.entry.id]!;
        if (calls === one.written || one.name === '') continue;
        one.written = calls;
        emit({ kind: 'count', at: now(), place: placeOf(one), calls });
      }
    },
    callsOf(file, name) {
      const found = [...(files.get(file)?.counted.values() ?? [])].find((one) => one.entry.name === name);
      return found === undefined ? undefined : counts[found.entry.id]!;
    },
  };
}

/** V8 guesses names too: of `jit((w) => …, { donateArgnums })` it makes `jit.donateArgnums`. */
const isNameOf = (guess: string, { name }: FunctionEntry): boolean =>
  name === '' ? !guess.includes('.') : guess === name || guess.endsWith(`.${name}`) || guess.endsWith(` ${name}`);
