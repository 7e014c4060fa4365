/**
 * Lowers a file again after an edit inside one function: the other functions are kept, moved to where they stand now.
 *
 * Allowed only where nothing else can have changed: the texts differ inside one body, all other functions stand where the
 * edit moved them, the type of the edited one reads as before, and it assigns the same variables of the module. What is
 * asked of the type checker is then asked for one function. Anything else lowers the whole file.
 * Depends on: lower, naming, ir, typescript.
 */
import ts from 'typescript';
import type { FunctionId, LoweredClass, LoweredFunction, TypeFact, Unit } from './ir.ts';
import { lowerFile, type LoweringInput } from './lower.ts';
import { isFunction, type Naming } from './naming.ts';

/** A function that no other function contains, by places in its text. */
interface Outer {
  readonly id: FunctionId;
  readonly start: number;
  readonly end: number;
  readonly bodyStart: number;
}

export interface Lowered {
  readonly unit: Unit;
  readonly text: string;
  readonly outer: readonly Outer[];
  /** How the type of each outer function reads; '' where its text says it all. */
  readonly types: ReadonlyMap<FunctionId, string>;
}

/** The text between `start` and `end` has changed, and moved what follows by `by`; `inside` is where. */
interface Edit {
  readonly inside: FunctionId;
  readonly end: number;
  readonly by: number;
}

/** `before`: the same file, with everything that it imports as it is now. What only a next edit needs is noted for files that are `edited`. */
export function relower(input: LoweringInput, source: ts.SourceFile, before?: Lowered, edited = true): Lowered {
  if (!edited) return { unit: lowerFile(input, source), text: source.text, outer: [], types: new Map() };
  const nodes = new Map<FunctionId, ts.FunctionLikeDeclaration>();
  const outer = outerFunctions(input.naming, source, nodes);
  const text = source.text;
  const typeNow = (id: FunctionId): string => typeText(input.facts.checker, nodes.get(id)!);
  const edit = before === undefined || !/\.[cm]?tsx?$/.test(source.fileName) ? undefined : editBetween(before, text, outer);
  if (before !== undefined && edit !== undefined && before.types.get(edit.inside) === typeNow(edit.inside)) {
    const groups = groupsOf(before.unit, new Set(outer.map(({ id }) => id)));
    const places = new Map(before.outer.map(({ id, start }) => [id, start]));
    const unit = lowerFile(
      {
        ...input,
        kept: (id) => (id === edit.inside ? undefined : moved(groups.get(id), places.get(id) ?? 0, edit, source.fileName)),
        keptType: typesOfNames(before.unit),
      },
      source,
    );
    if (assigned(before.unit, edit.inside) === assigned(unit, edit.inside)) return { unit, text, outer, types: before.types };
  }
  const unit = lowerFile(input, source);
  return { unit, text, outer, types: new Map(outer.map(({ id }) => [id, typeNow(id)])) };
}

function outerFunctions(naming: Naming, source: ts.SourceFile, nodes: Map<FunctionId, ts.FunctionLikeDeclaration>): readonly Outer[] {
  const found: Outer[] = [];
  const visit = (node: ts.Node): void => {
    // Initialisers of fields share names with each other.
    if (ts.isPropertyDeclaration(node)) return;
    if (!isFunction(node)) return ts.forEachChild(node, visit);
    const id = naming.idOf(node);
    if (id === undefined || node.body === undefined || !ts.isBlock(node.body) || ts.isConstructorDeclaration(node)) return;
    found.push({ id, start: node.pos, end: node.end, bodyStart: node.body.getStart(source) });
    nodes.set(id, node);
  };
  ts.forEachChild(source, visit);
  return found;
}

function typeText(checker: ts.TypeChecker, node: ts.FunctionLikeDeclaration): string {
  // What is declared inside may differ under the same name.
  if (/\b(?:class|interface|enum|type|namespace|module)\b/.test(node.getText())) return `? ${node.getText()}`;
  if (node.type !== undefined) return '';
  return checker.typeToString(checker.getTypeAtLocation(node), undefined, ts.TypeFormatFlags.NoTruncation);
}

function editBetween(before: Lowered, text: string, outer: readonly Outer[]): Edit | undefined {
  if (outer.length !== before.outer.length || new Set(outer.map(({ id }) => id)).size !== outer.length) return undefined;
  const shorter = Math.min(text.length, before.text.length);
  let start = 0;
  while (start < shorter && text.charCodeAt(start) === before.text.charCodeAt(start)) start++;
  let tail = 0;
  while (tail < shorter - start && text.charCodeAt(text.length - 1 - tail) === before.text.charCodeAt(before.text.length - 1 - tail))
    tail++;
  const end = before.text.length - tail;
  const by = text.length - before.text.length;
  let inside: FunctionId | undefined;
  for (const [index, old] of before.outer.entries()) {
    const now = outer[index]!;
    const holds = old.bodyStart < start && end < old.end;
    if (holds) inside = old.id;
    const shift = !holds && old.start >= end ? by : 0;
    const same =
      now.id === old.id &&
      now.start === old.start + shift &&
      now.bodyStart === old.bodyStart + shift &&
      now.end === old.end + (holds ? by : shift);
    if (!same || (!holds && old.start < end && old.end > start)) return undefined;
  }
  return inside === undefined ? undefined : { inside, end, by };
}

/** What the names of a file's outer functions are known to be; nothing of a name that several variables have. */
function typesOfNames(unit: Unit): (id: FunctionId) => TypeFact | undefined {
  const byName = new Map<string, TypeFact | undefined>();
  for (const { name, type } of unit.functions.get(unit.module)?.locals ?? [])
    if (name !== undefined) byName.set(name, byName.has(name) ? undefined : type);
  return (id) => (id.includes('/', id.indexOf('#')) ? undefined : byName.get(unit.functions.get(id)?.name ?? ''));
}

interface Group {
  readonly functions: readonly LoweredFunction[];
  readonly classes: readonly LoweredClass[];
}

/** What each outer function contains, itself included, in the order it was lowered. */
function groupsOf(unit: Unit, outer: ReadonlySet<FunctionId>): ReadonlyMap<FunctionId, Group> {
  const groups = new Map<FunctionId, { functions: LoweredFunction[]; classes: LoweredClass[] }>();
  const groupOf = (id: string): { functions: LoweredFunction[]; classes: LoweredClass[] } | undefined => {
    const least = id.indexOf('#');
    for (let at = id.length; at > least; at = id.lastIndexOf('/', at - 1)) {
      const owner = id.slice(0, at);
      if (!outer.has(owner)) continue;
      const group = groups.get(owner) ?? { functions: [], classes: [] };
      groups.set(owner, group);
      return group;
    }
    return undefined;
  };
  for (const fn of unit.functions.values()) groupOf(fn.id)?.functions.push(fn);
  for (const cls of unit.classes.values()) groupOf(cls.id)?.classes.push(cls);
  return groups;
}

function moved(group: Group | undefined, start: number, { end, by }: Edit, file: string): Group | undefined {
  return group === undefined || start < end || by === 0 ? group : (shifted(group, by, file) as Group);
}

/** The same value, its places in `file` moved; types have none. */
function shifted(value: unknown, by: number, file: string): unknown {
  if (Array.isArray(value)) return value.map((member) => shifted(member, by, file));
  if (typeof value !== 'object' || value === null) return value;
  if ('start' in value && 'end' in value && typeof value.start === 'number' && typeof value.end === 'number')
    return !('file' in value) || value.file === file ? { ...value, start: value.start + by, end: value.end + by } : value;
  const made: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) made[key] = key === 'type' ? member : shifted(member, by, file);
  return made;
}

/** The variables of the module that a function, or one inside it, assigns. */
function assigned(unit: Unit, id: FunctionId): string {
  const names = new Set<string>();
  for (const fn of unit.functions.values())
    if (fn.id === id || fn.id.startsWith(`${id}/`))
      for (const { events } of fn.blocks)
        for (const event of events)
          if (event.kind === 'setOuter' && event.variable.function === unit.module) names.add(event.variable.name);
  return [...names].sort().join();
}
