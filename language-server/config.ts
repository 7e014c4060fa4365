/**
 * `tidemark.json`: severities, limits, assumed sizes, and library models of the user's own.
 *
 * Found in the working directory or above. A mistake in it is said once, in words, and the rest still counts.
 * Depends on: libraries/model, lower (bytes of text), node:.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LibraryModel } from './libraries/model.ts';
import { bytesOfText } from './lower/directives.ts';
import type { SeveritySetting } from './protocol.ts';

export interface Config {
  readonly file?: string;
  readonly rules: Readonly<Record<string, SeveritySetting>>;
  readonly minBytes?: number;
  readonly budgetBytes?: number;
  readonly assume: Readonly<Record<string, number>>;
  readonly libraries: readonly LibraryModel[];
  readonly faults: readonly string[];
}

const severities = new Set<unknown>(['off', 'hint', 'info', 'warning', 'error']);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The nearest `tidemark.json` at or above a folder. */
export function findConfig(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const file = join(at, 'tidemark.json');
    if (existsSync(file)) return file;
    if (dirname(at) === at) return undefined;
  }
}

export function readConfig(folder: string): Config {
  const file = findConfig(folder);
  if (file === undefined) return { rules: {}, assume: {}, libraries: [], faults: [] };
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    return {
      file,
      rules: {},
      assume: {},
      libraries: [],
      faults: [`${file} is no JSON: ${error instanceof Error ? error.message : String(error)}`],
    };
  }
  return { file, ...parseConfig(value) };
}

export function parseConfig(value: unknown): Omit<Config, 'file'> {
  const faults: string[] = [];
  if (!isRecord(value)) return { rules: {}, assume: {}, libraries: [], faults: ['the configuration is no object'] };
  const rules: Record<string, SeveritySetting> = {};
  if (isRecord(value['rules'])) {
    for (const [id, severity] of Object.entries(value['rules'])) {
      if (isSeverity(severity)) rules[id] = severity;
      else faults.push(`rules.${id}: a severity is off, hint, info, warning or error`);
    }
  }
  const assume: Record<string, number> = {};
  if (isRecord(value['assume']))
    for (const [name, size] of Object.entries(value['assume'])) if (typeof size === 'number') assume[name] = size;
  const minBytes = bytesOf(value['minBytes']);
  const budgetBytes = bytesOf(value['memoryBudget']);
  const listed = value['libraries'];
  const libraries = Array.isArray(listed) ? listed.flatMap((entry: unknown, i) => modelOf(entry, i, faults)) : [];
  return {
    rules,
    assume,
    libraries,
    faults,
    ...(minBytes === undefined ? {} : { minBytes }),
    ...(budgetBytes === undefined ? {} : { budgetBytes }),
  };
}

const isSeverity = (value: unknown): value is SeveritySetting => severities.has(value);
export const bytesOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : typeof value === 'string' ? bytesOfText(value) : undefined;

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((member): member is string => typeof member === 'string') : [];
}

function modelOf(entry: unknown, index: number, faults: string[]): readonly LibraryModel[] {
  if (!isRecord(entry)) {
    faults.push(`libraries[${index}] is no object`);
    return [];
  }
  const modules = strings(entry['modules']);
  const arrays = strings(entry['arrays']);
  if (modules.length === 0) {
    faults.push(`libraries[${index}] names no modules`);
    return [];
  }
  const id = typeof entry['id'] === 'string' ? entry['id'] : modules[0]!;
  const free = strings(entry['free']);
  return [
    {
      id,
      modules,
      arrays,
      owners: strings(entry['owners']),
      convention: entry['convention'] === 'consumes' ? 'consumes' : 'borrows',
      free: free.length === 0 ? ['dispose'] : free,
      freeTwice: entry['freeTwice'] !== false,
      metadata: strings(entry['metadata']),
      noun: typeof entry['noun'] === 'string' ? entry['noun'] : 'array',
      calls: callsOf(entry['calls'], index, faults),
      ...(typeof entry['retain'] === 'string' ? { retain: entry['retain'] } : {}),
      ...(typeof entry['copy'] === 'string' ? { copy: entry['copy'] } : {}),
      ...(typeof entry['scopeName'] === 'string' ? { scopeName: entry['scopeName'] } : {}),
      ...(isRecord(entry['aliases'])
        ? {
            aliases: Object.fromEntries(
              Object.entries(entry['aliases']).flatMap(([k, v]) => (typeof v === 'string' ? [[k, v] as const] : [])),
            ),
          }
        : {}),
    },
  ];
}

const verbs = new Set<unknown>(['inspects', 'reads', 'stores', 'donates', 'consumes', 'disposes', 'keeps', 'records']);
type Call = LibraryModel['calls'][string];

/** Calls of a user's model: argument verbs by position, where the result comes from, and the scope role. */
function callsOf(value: unknown, index: number, faults: string[]): LibraryModel['calls'] {
  if (!isRecord(value)) return {};
  const calls: Record<string, Call> = {};
  for (const [name, spec] of Object.entries(value)) {
    if (!isRecord(spec)) {
      faults.push(`libraries[${index}].calls.${name} is no object`);
      continue;
    }
    const given: Record<string, NonNullable<Call['arguments']>[number]> = {};
    if (isRecord(spec['arguments'])) {
      for (const [position, verb] of Object.entries(spec['arguments'])) {
        if (isVerb(verb)) given[position] = verb;
        else faults.push(`libraries[${index}].calls.${name}.arguments.${position}: unknown verb`);
      }
    }
    const result = spec['result'];
    const aliases = isRecord(result) && typeof result['aliases'] === 'number' ? { aliases: result['aliases'] } : undefined;
    calls[name] = {
      arguments: given,
      ...(result === 'creates' || result === 'host' || result === 'unknown'
        ? { result }
        : aliases === undefined
          ? {}
          : { result: aliases }),
      ...roleOf(spec, `libraries[${index}].calls.${name}`, faults),
    };
  }
  return calls;
}

const transformations = new Set<unknown>(['grad', 'valueAndGrad', 'vmap', 'checkpoint', 'other']);
const isTransformation = (value: unknown): value is Extract<NonNullable<Call['role']>, { kind: 'transforms' }>['how'] =>
  transformations.has(value);

/** What else a call is: a scope, a compiler of functions, one that makes another function of its argument, or one that traces it. */
function roleOf(spec: Readonly<Record<string, unknown>>, path: string, faults: string[]): Pick<Call, 'role' | 'result'> {
  const at = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const { scope, compiles, transforms, traces } = spec;
  if (scope === true) return { role: { kind: 'scope', async: false } };
  if (compiles === true || isRecord(compiles)) {
    const given = isRecord(compiles) ? compiles : {};
    const options = typeof given['options'] === 'number' ? given['options'] : 1;
    return { result: 'unknown', role: { kind: 'compiles', function: at(given['function']), options, caches: true } };
  }
  if (isTransformation(transforms)) return { result: 'unknown', role: { kind: 'transforms', how: transforms, function: 0 } };
  if (transforms !== undefined) faults.push(`${path}.transforms: ${[...transformations].join(', ')} are known`);
  return typeof traces === 'number' ? { role: { kind: 'traces', function: traces } } : {};
}

const isVerb = (value: unknown): value is NonNullable<NonNullable<Call['arguments']>[number]> => verbs.has(value);
