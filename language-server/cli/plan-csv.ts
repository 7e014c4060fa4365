/**
 * Packing instances as tables: `id,lower,upper,size`, and where given `alignment`, `gaps`, `offset`, `hint`.
 *
 * Columns may stand in any order and others may be among them; all are kept when the offsets are written back. Lifetimes
 * are half-open. An `offset` is fixed. A gap is `lower-upper`, or `lower-upper@from:to` for the bytes that are still
 * needed then; several are parted by spaces. Depends on: runtime/plan, io.
 */
import type { Buffer, Gap } from '../../runtime/plan/problem.ts';
import { UsageError } from './io.ts';

export interface Instance {
  readonly buffers: readonly (Buffer & { readonly name: string })[];
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly newline: string;
}

const required = ['id', 'lower', 'upper', 'size'] as const;
type Column = (typeof required)[number] | 'alignment' | 'gaps' | 'offset';

export function readInstance(text: string, file: string): Instance {
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const columns = cells(lines[0] ?? '', `${file}:1`);
  for (const name of required)
    if (!columns.includes(name)) throw at(file, 1, `the column \`${name}\` is missing`, 'begin with a line such as `id,lower,upper,size`');
  const twice = columns.find((name, i) => columns.indexOf(name) !== i);
  if (twice !== undefined) throw at(file, 1, `the column \`${twice}\` is there twice`, 'keep one of them');
  const rows: (readonly string[])[] = [];
  const buffers: (Buffer & { name: string })[] = [];
  const lineOf = new Map<string, number>();
  lines.forEach((line, i) => {
    if (i === 0 || line.trim() === '') return;
    const row = cells(line, `${file}:${i + 1}`);
    if (row.length !== columns.length)
      throw at(file, i + 1, `${row.length} cells under ${columns.length} columns`, 'give every row one cell for each column');
    const buffer = readBuffer(file, i + 1, (name) => row[columns.indexOf(name)] ?? '');
    const earlier = lineOf.get(buffer.name);
    if (earlier !== undefined)
      throw at(file, i + 1, `the id \`${buffer.name}\` was given at line ${earlier}`, 'give each buffer an id of its own');
    lineOf.set(buffer.name, i + 1);
    rows.push(row);
    buffers.push(buffer);
  });
  return { buffers, columns, rows, newline };
}

function readBuffer(file: string, line: number, cell: (name: Column) => string): Buffer & { name: string } {
  const whole = (name: Column, least: number): number => {
    const text = cell(name);
    const value = Number(text);
    if (text === '' || !/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value))
      throw at(file, line, `\`${name}\` is ${text === '' ? 'empty' : JSON.stringify(text)}`, 'write a whole number');
    if (value < least) throw at(file, line, `\`${name}\` is ${value}`, `write a number from ${least}`);
    return value;
  };
  const name = cell('id');
  const born = whole('lower', Number.MIN_SAFE_INTEGER);
  const dies = whole('upper', Number.MIN_SAFE_INTEGER);
  const bytes = whole('size', 0);
  if (name === '') throw at(file, line, '`id` is empty', 'name the buffer');
  if (born >= dies) throw at(file, line, `\`upper\` ${dies} is not above \`lower\` ${born}`, 'lifetimes are half-open: lower <= t < upper');
  const gaps = cell('gaps') === '' ? undefined : readGaps(file, line, cell('gaps'), { born, dies, bytes });
  const alignment = cell('alignment') === '' ? undefined : whole('alignment', 1);
  const fixed = cell('offset') === '' ? undefined : whole('offset', 0);
  return {
    name,
    bytes,
    born,
    dies,
    ...(alignment !== undefined && { alignment }),
    ...(fixed !== undefined && { fixed }),
    ...(gaps !== undefined && { gaps }),
  };
}

function readGaps(file: string, line: number, text: string, { born, dies, bytes }: Buffer): Gap[] {
  let last = born;
  return text
    .trim()
    .split(/\s+/)
    .map((word) => {
      const match = /^(-?\d+)-(-?\d+)(?:@(\d+):(\d+))?$/.exec(word);
      if (match === null)
        throw at(file, line, `the gap ${JSON.stringify(word)} cannot be read`, 'write `lower-upper`, or `lower-upper@from:to`');
      const gap = { from: Number(match[1]), to: Number(match[2]) };
      if (gap.from >= gap.to || gap.from < last || gap.to > dies)
        throw at(
          file,
          line,
          `the gap ${JSON.stringify(word)} is not a part of the life ${born} to ${dies} after the gap before it`,
          'list gaps in order, each within the life',
        );
      last = gap.to;
      if (match[3] === undefined) return gap;
      const keeps = { from: Number(match[3]), to: Number(match[4]) };
      if (keeps.from > keeps.to || keeps.to > bytes)
        throw at(file, line, `the gap ${JSON.stringify(word)} keeps bytes that the buffer lacks`, `keep a part of 0:${bytes}`);
      return { ...gap, keeps };
    });
}

/** The rows as they were, with the column `offset` filled in. */
export function writePlaced({ columns, rows, newline }: Instance, offsets: readonly number[]): string {
  const at = columns.indexOf('offset');
  const placed = rows.map((row, i) => (at < 0 ? [...row, String(offsets[i])] : row.with(at, String(offsets[i]))));
  const lines = [at < 0 ? [...columns, 'offset'] : columns, ...placed];
  return lines.map((row) => row.map(quoted).join(',') + newline).join('');
}

const quoted = (cell: string): string => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

function cells(line: string, place: string): string[] {
  if (!line.includes('"')) return line.split(',').map((cell) => cell.trim());
  const found: string[] = [];
  const pattern = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y;
  for (;;) {
    const match = pattern.exec(line);
    if (match === null) throw new UsageError(`${place}: a quoted cell does not end`, 'close the quote, and write a quote inside as two');
    found.push(match[1]?.replaceAll('""', '"') ?? match[2]!.trim());
    if (match[3] === '') return found;
  }
}

const at = (file: string, line: number, what: string, fix: string): UsageError => new UsageError(`${file}:${line}: ${what}`, fix);
