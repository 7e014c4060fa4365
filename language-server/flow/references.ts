/**
 * The objects that a value refers to: visited, renamed, and two objects of one place made one.
 *
 * Depends on: values.
 */
import type { Span } from '../lower/ir.ts';
import { objectValue, type Node, type ObjectId, type Value } from './values.ts';

/** Every object id inside a value. */
export function forEachId(value: Value, visit: (id: ObjectId) => void): void {
  switch (value.kind) {
    case 'object':
      return visit(value.id);
    case 'closure':
      if (value.environment !== undefined) visit(value.environment);
      if (value.self !== undefined) forEachId(value.self, visit);
      return;
    case 'class':
      if (value.environment !== undefined) visit(value.environment);
      return;
    case 'compiled':
    case 'marked':
      return forEachId(value.of, visit);
    case 'literal':
    case 'host':
    case 'external':
      return;
  }
}

export function mapValue(value: Value, rename: (id: ObjectId) => ObjectId): Value {
  switch (value.kind) {
    case 'object': {
      const id = rename(value.id);
      return id === value.id ? value : objectValue(id);
    }
    case 'closure': {
      const environment = value.environment === undefined ? undefined : rename(value.environment);
      const self = value.self === undefined ? undefined : mapValue(value.self, rename);
      return environment === value.environment && self === value.self
        ? value
        : {
            ...value,
            environment,
            key: `fn ${value.function} ${environment ?? ''} ${self?.key ?? ''}`,
            ...(self === undefined ? {} : { self }),
          };
    }
    case 'class': {
      const environment = value.environment === undefined ? undefined : rename(value.environment);
      return environment === value.environment ? value : { ...value, environment, key: `class ${value.class} ${environment ?? ''}` };
    }
    case 'compiled': {
      const of = mapValue(value.of, rename);
      return of === value.of ? value : { ...value, of, key: compiledKey(of, value.jit) };
    }
    case 'marked': {
      const of = mapValue(value.of, rename);
      return of === value.of ? value : { ...value, of, key: `donate ${of.key}` };
    }
    case 'literal':
    case 'host':
    case 'external':
      return value;
  }
}

/** Two objects of one place become one that stands for many. */
export function merged(a: Node, b: Node): Node {
  const fields = new Map(a.fields);
  const pool = [...a.pool, ...b.pool.filter((value) => !a.pool.some((other) => other.key === value.key))];
  for (const [name, value] of b.fields) {
    const before = fields.get(name);
    if (before === undefined) fields.set(name, value);
    else if (before.key !== value.key && !pool.some((other) => other.key === value.key)) pool.push(value);
  }
  const life =
    a.life === undefined || b.life === undefined
      ? (a.life ?? b.life)
      : a.life.dead === b.life.dead
        ? { ...a.life, escaped: a.life.escaped || b.life.escaped, watches: [...new Set([...a.life.watches, ...b.life.watches])] }
        : { ...a.life, dead: false, escaped: true };
  return { ...a, fields, pool, many: true, open: a.open || b.open, ...(life === undefined ? {} : { life }) };
}

export const compiledKey = (of: Value, jit: Span): string => `jit ${jit.file}:${jit.start} ${of.key}`;

/** The same list when nothing in it changes. */
export function mapList(list: readonly Value[], map: (value: Value) => Value): readonly Value[] {
  let changed: Value[] | undefined;
  for (let i = 0; i < list.length; i++) {
    const next = map(list[i]!);
    if (next !== list[i]) (changed ??= [...list])[i] = next;
  }
  return changed ?? list;
}

export function hasKey(fields: ReadonlyMap<string, unknown>, test: (name: string) => boolean): boolean {
  for (const name of fields.keys()) if (test(name)) return true;
  return false;
}

export function everyKey(map: ReadonlyMap<string, unknown>, of: ReadonlySet<string>): boolean {
  for (const key of map.keys()) if (!of.has(key)) return false;
  return true;
}
