/**
 * Arguments of a command, read by a table of its options.
 *
 * `--name value` and `--name=value`; what follows `--` is kept apart. An option that the table lacks is an error that
 * names the nearest one. Depends on: core, io.
 */
import { readBytes } from '../../runtime/core/bytes.ts';
import { UsageError } from './io.ts';

export interface OptionSpec {
  /** Placeholder of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly help: string;
  readonly repeated?: boolean;
  /** The values that are allowed. */
  readonly oneOf?: readonly string[];
}

export type OptionTable = Readonly<Record<string, OptionSpec>>;

export interface Arguments {
  readonly positional: readonly string[];
  /** What follows `--`; undefined when there was none. */
  readonly rest: readonly string[] | undefined;
  has(name: string): boolean;
  value(name: string): string | undefined;
  values(name: string): readonly string[];
}

export function readArguments(command: string, table: OptionTable, argv: readonly string[]): Arguments {
  const split = argv.indexOf('--');
  const own = split === -1 ? argv : argv.slice(0, split);
  const positional: string[] = [];
  const given = new Map<string, string[]>();
  for (let i = 0; i < own.length; i += 1) {
    const word = own[i]!;
    if (!word.startsWith('--')) {
      if (word.startsWith('-') && word.length > 1) throw unknownOption(command, word, table);
      positional.push(word);
      continue;
    }
    const [name, inline] = splitOption(word.slice(2));
    const spec = table[name];
    if (spec === undefined) throw unknownOption(command, word, table);
    if (spec.value === undefined && inline !== undefined) throw new UsageError(`\`--${name}\` takes no value`, `write \`--${name}\` alone`);
    const value = spec.value === undefined ? '' : (inline ?? own[(i += 1)]);
    if (value === undefined) throw new UsageError(`\`--${name}\` lacks its value`, `write \`--${name} ${spec.value}\``);
    if (spec.oneOf !== undefined && !spec.oneOf.includes(value))
      throw new UsageError(`\`--${name}\` cannot be ${JSON.stringify(value)}`, `use one of ${spec.oneOf.join(', ')}`);
    if (given.has(name) && spec.repeated !== true) throw new UsageError(`\`--${name}\` is given twice`, 'give it once');
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  return {
    positional,
    rest: split === -1 ? undefined : argv.slice(split + 1),
    has: (name) => given.has(name),
    value: (name) => given.get(name)?.[0],
    values: (name) => given.get(name) ?? [],
  };
}

function splitOption(word: string): readonly [string, string | undefined] {
  const equals = word.indexOf('=');
  return equals === -1 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)];
}

function unknownOption(command: string, word: string, table: OptionTable): UsageError {
  const name = word.replace(/^-+/, '').split('=')[0]!;
  const nearest = Object.keys(table)
    .map((known) => ({ known, distance: editDistance(name, known) }))
    .toSorted((a, b) => a.distance - b.distance)[0];
  const hint = nearest !== undefined && nearest.distance <= 3 ? `did you mean \`--${nearest.known}\`? ` : '';
  return new UsageError(`\`tidemark ${command}\` has no option \`${word}\``, `${hint}\`tidemark ${command} --help\` lists them`);
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}

/** Help of a command: usage line, one sentence, the options in a table. */
export function helpText(usage: string, what: string, table: OptionTable): string {
  const rows = Object.entries(table).map(
    ([name, spec]) => [`  --${name}${spec.value === undefined ? '' : ` ${spec.value}`}`, spec.help] as const,
  );
  const width = Math.max(...rows.map(([left]) => left.length));
  return [`usage: ${usage}`, '', what, '', ...rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`), ''].join('\n');
}

/** Bytes of a size as people write it: `64MiB`, `1.5 GB`, `4096`. */
export function bytesOption(option: string, text: string): number {
  const bytes = readBytes(text);
  if (bytes === undefined)
    throw new UsageError(`\`${option}\` cannot be ${JSON.stringify(text)}`, 'write a size such as 64MiB, 1.5GB or 4096');
  return bytes;
}

export function readSeconds(option: string, text: string): number {
  const seconds = Number(text.replace(/s$/, ''));
  if (!Number.isFinite(seconds) || seconds <= 0 || text.trim() === '')
    throw new UsageError(`\`${option}\` cannot be ${JSON.stringify(text)}`, 'write a number of seconds, such as 30');
  return seconds;
}
