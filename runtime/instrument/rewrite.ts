/**
 * Adds to a module of the person's, while it is loaded, what V8 cannot tell: how often each function is called, and that names at module level are held.
 * What it tells slowly is added too: which line is about to make something on the GPU.
 *
 * Counting by V8's own coverage costs up to thirty times the running time; a counter at the start of a body costs a
 * nanosecond. All additions stay on their lines, and a table at the head says where they are, so positions of stacks can
 * be put back. V8 drops a name at module level that no function uses; a closure with an `eval` in it keeps all of them,
 * since what a module's names hold is not lost. A source that isn't understood to its last bracket is left alone.
 * Depends on: scan.
 */
import { scan } from './scan.ts';
import type { ScannedFunction } from './scan.ts';

/** What the added code calls, on the global object. */
export const counterName = '$tidemarkCount';
export const tableName = '$tidemarkTable';
/** Takes the number of a site, and gives back its other argument: what the call right after it makes was asked for there. */
export const siteName = '$tidemarkAt';

/** Positions count from 1, in the text before anything was added. */
export interface FunctionEntry {
  readonly id: number;
  readonly name: string;
  readonly compiled: boolean;
  readonly start: Point;
  readonly end: Point;
}

export type Point = readonly [line: number, column: number];

export interface RewriteTable {
  readonly functions: readonly FunctionEntry[];
  /** For each addition: where it was put, and how long it is. */
  readonly added: readonly (readonly [line: number, column: number, length: number])[];
}

export interface Rewritten {
  readonly source: string;
  readonly table: RewriteTable;
  /** How many sites were numbered. */
  readonly sites: number;
}

const longestSource = 4 << 20;

/** `firstId` is the number of the first counter, `firstSite` that of the first site; undefined when the source is left alone. */
export function rewrite(source: string, file: string, firstId: number, firstSite = 0): Rewritten | undefined {
  if (source.length > longestSource) return undefined;
  const scanned = scan(source);
  if (scanned === undefined) return undefined;
  const point = pointsOf(source);
  const functions = scanned.functions.map((one, i) => ({
    id: firstId + i,
    name: one.name,
    compiled: one.compiled,
    start: point(one.start),
    end: point(one.end),
  }));
  const inserts = [
    ...scanned.functions.flatMap((one, i) => insertsOf(one, firstId + i)),
    ...scanned.sites.flatMap(({ start, end }, i) => [
      { offset: start, text: `(globalThis.${siteName}??((_,a)=>a))(${firstSite + i},` },
      { offset: end, text: ')' },
    ]),
  ];
  // The head holds the table of all that is added, itself with the length that it will have.
  const bodyAdded = inserts.map(({ offset, text }) => [...point(offset), text.length] as const);
  const headAt = point(scanned.head);
  let head = '';
  for (let length = 0; ; length = head.length) {
    const added = [[...headAt, length] as const, ...bodyAdded];
    head = `;${tableName}(${JSON.stringify(file)},${JSON.stringify({ functions, added })},()=>eval("0"));`;
    if (head.length === length)
      return {
        source: spliced(source, [{ offset: scanned.head, text: head }, ...inserts]),
        table: { functions, added },
        sites: scanned.sites.length,
      };
  }
}

interface Insert {
  readonly offset: number;
  readonly text: string;
}

function insertsOf(one: ScannedFunction, id: number): readonly Insert[] {
  // A function may be sent elsewhere as text, to a page or a worker, where nobody counts.
  const count = `globalThis.${counterName}?.(${id})`;
  if (one.body.kind === 'block') return [{ offset: one.body.offset, text: `${count};` }];
  return [
    { offset: one.body.offset, text: `(${count},` },
    { offset: one.body.end, text: ')' },
  ];
}

function spliced(source: string, inserts: readonly Insert[]): string {
  let result = '';
  let at = 0;
  for (const { offset, text } of inserts.toSorted((a, b) => a.offset - b.offset)) {
    result += source.slice(at, offset) + text;
    at = offset;
  }
  return result + source.slice(at);
}

function pointsOf(source: string): (offset: number) => Point {
  const starts = [0];
  for (let i = source.indexOf('\n'); i !== -1; i = source.indexOf('\n', i + 1)) starts.push(i + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return [low + 1, offset - starts[low]! + 1];
  };
}

/** Positions of a rewritten file put back, and the function that one lies in. */
export interface Positions {
  original(line: number, column: number): Point;
  functionAt(line: number, column: number): FunctionEntry | undefined;
  /** All functions that it lies in, innermost first. */
  functionsAt(line: number, column: number): readonly FunctionEntry[];
}

type Addition = { readonly column: number; readonly length: number };

/** What was added to each line, in order; columns are those of the text before. */
export function additionsByLine(added: RewriteTable['added']): ReadonlyMap<number, readonly Addition[]> {
  const ofLine = new Map<number, Addition[]>();
  for (const [line, column, length] of added) {
    const known = ofLine.get(line) ?? [];
    known.push({ column, length });
    ofLine.set(line, known);
  }
  for (const additions of ofLine.values()) additions.sort((a, b) => a.column - b.column);
  return ofLine;
}

export function positionsOf({ functions, added }: RewriteTable): Positions {
  const ofLine = additionsByLine(added);
  return {
    original(line, column) {
      let before = 0;
      for (const insert of ofLine.get(line) ?? []) {
        // A position inside an addition belongs to where it was put.
        if (column < insert.column + before) break;
        if (column < insert.column + before + insert.length) return [line, insert.column];
        before += insert.length;
      }
      return [line, column - before];
    },
    functionAt: (line, column) => functionsAt(line, column)[0],
    functionsAt,
  };

  function functionsAt(line: number, column: number): readonly FunctionEntry[] {
    const around = functions.filter((one) => before(one.start, [line, column]) && before([line, column], one.end));
    return around.toSorted((a, b) => (before(a.start, b.start) ? 1 : -1));
  }
}

const before = (a: Point, b: Point): boolean => a[0] < b[0] || (a[0] === b[0] && a[1] <= b[1]);
