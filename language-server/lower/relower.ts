/**
 * Lowers a file again after an edit inside one function: all the rest is kept, moved to where it stands now.
 *
 * Allowed only where nothing else can have changed: the texts differ inside one body, all other functions stand where the
 * edit moved them, the type of the edited one reads as before, and it assigns the same variables of the module. What is
 * asked of the type checker is then asked for one function. Anything else lowers the whole file.
 * Depends on: lower, naming, ir, typescript.
 */
import ts from 'typescript';
import { isWithin, type FunctionId, type LoweredFunction, type Unit } from './ir.ts';
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
  /** The function whose body alone has changed since the last time; everything else was kept. */
  readonly changed?: FunctionId;
  /** All that was kept stands in its line, at its place in the line. */
  readonly inLine?: boolean;
}

/** The text between `start` and `end` has changed, and moved what follows by `by`; `inside` is where. */
interface Edit {
  readonly inside: FunctionId;
  readonly end: number;
  readonly by: number;
  /** All that stands outside of the function keeps its line, and its place in the line. */
  readonly inLine: boolean;
}

/** `before`: the same file, with everything that it imports as it is now. What only a next edit needs is noted for files that are `edited`. */
export function relower(input: LoweringInput, source: ts.SourceFile, before?: Lowered, edited = true): Lowered {
  if (!edited) return { unit: lowerFile(input, source), text: source.text, outer: [], types: new Map() };
  const nodes = new Map<FunctionId, ts.FunctionLikeDeclaration>();
  const outer = outerFunctions(input.naming, source, nodes);
  const text = source.text;
  const typeNow = (id: FunctionId): string => typeText(input.facts.checker, nodes.get(id)!);
  const edit = before === undefined || !/\.[cm]?tsx?$/.test(source.fileName) ? undefined : editBetween(before, text, outer);
  if (
    before !== undefined &&
    edit !== undefined &&
    before.types.get(edit.inside) === typeNow(edit.inside) &&
    plainlyNamed(before.unit.functions.get(before.unit.module))
  ) {
    const unit = lowerFile(input, source, { before: before.unit, id: edit.inside, node: nodes.get(edit.inside)! });
    if (assigned(before.unit, edit.inside) === assigned(unit, edit.inside)) {
      move(unit, edit);
      return { unit, text, outer, types: before.types, changed: edit.inside, inLine: edit.inLine };
    }
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
  let sharesLine = false;
  for (const [index, old] of before.outer.entries()) {
    const now = outer[index]!;
    const holds = old.bodyStart < start && end < old.end;
    if (holds) [inside, sharesLine] = [old.id, breaks(before.text, end, old.end) === 0];
    const shift = !holds && old.start >= end ? by : 0;
    const same =
      now.id === old.id &&
      now.start === old.start + shift &&
      now.bodyStart === old.bodyStart + shift &&
      now.end === old.end + (holds ? by : shift);
    if (!same || (!holds && old.start < end && old.end > start)) return undefined;
  }
  if (inside === undefined) return undefined;
  return { inside, end, by, inLine: breaks(before.text, start, end) === breaks(text, start, end + by) && !sharesLine };
}

/** How many lines end between two places. */
function breaks(text: string, start: number, end: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', start); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Has every variable of the module a name of its own, by which functions know it? */
const plainlyNamed = (module: LoweredFunction | undefined): boolean =>
  module !== undefined && module.locals.every(({ name, unique }) => name === undefined || name === unique);

/**
 * Moves all places of a unit's functions and classes, but those inside of one, to where they stand after the edit. In
 * place: what earlier walks have noted of these functions goes on being right.
 */
function move({ file, functions, classes }: Unit, { inside, end, by }: Edit): void {
  if (by === 0) return;
  const moved = new Set<object>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const member of value) if (typeof member === 'object') visit(member);
      return;
    }
    if (value === null || moved.has(value as object)) return;
    const holder = value as Record<string, unknown>;
    if (typeof holder['start'] === 'number' && typeof holder['end'] === 'number') {
      if (holder['file'] !== file) return;
      moved.add(holder);
      if (holder['start'] >= end) holder['start'] += by;
      if (holder['end'] >= end) holder['end'] += by;
      return;
    }
    // Types have no places.
    for (const key in holder) if (key !== 'type' && typeof holder[key] === 'object') visit(holder[key]);
  };
  for (const [id, fn] of functions) if (!isWithin(id, inside)) visit(fn);
  for (const [id, cls] of classes) if (!isWithin(id, inside)) visit(cls);
}

/** The variables of the module that a function, or one inside it, assigns. */
function assigned(unit: Unit, id: FunctionId): string {
  const names = new Set<string>();
  for (const fn of unit.functions.values())
    if (isWithin(fn.id, id))
      for (const { events } of fn.blocks)
        for (const event of events)
          if (event.kind === 'setOuter' && event.variable.function === unit.module) names.add(event.variable.name);
  return [...names].sort().join();
}
