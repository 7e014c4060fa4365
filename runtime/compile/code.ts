/**
 * Turns scalar expressions into statements of some language, each value once, each as far out of loops as it can stand.
 *
 * The language is a handful of functions; scopes are the loops that are open. A value goes to the innermost scope that
 * defines something it depends on, so what doesn't change in a loop is computed before it. Depends on: core, ops.
 */
import type { DType } from '../core/dtype.ts';
import { dtypeOf, type Scalar, type ScalarFunction } from '../ops/scalar.ts';

export interface Language {
  readonly constant: (value: number, dtype: DType) => string;
  readonly coordinate: (axis: number) => string;
  /** `vector`: four elements that lie side by side; `position` counts fours. */
  readonly load: (slot: number, position: string, dtype: DType, vector: boolean) => string;
  readonly apply: (apply: ScalarFunction, operands: readonly string[], dtype: DType, from: readonly DType[]) => string;
  readonly choose: (condition: string, then: string, otherwise: string, dtype: DType) => string;
  readonly define: (name: string, dtype: DType, text: string) => string;
  readonly variable: (name: string, dtype: DType, text: string) => string;
  readonly assign: (name: string, text: string) => string;
  readonly loop: (counter: string, extent: string) => string;
  readonly end: string;
}

export interface Scope {
  readonly lines: string[];
  /** Coordinates and symbols that have a value only inside. */
  readonly defines: ReadonlySet<number | symbol>;
  readonly names: Scalar[];
}

export interface Writer {
  readonly scopes: Scope[];
  readonly value: (scalar: Scalar) => string;
  /** Opens a scope; its lines are collected until it is closed. */
  readonly open: (defines: readonly (number | symbol)[]) => Scope;
  readonly close: () => readonly string[];
  readonly line: (text: string) => void;
  readonly bind: (symbol: symbol, name: string) => void;
  readonly fresh: (prefix: string) => string;
}

export function makeCode(language: Language): Writer {
  const scopes: Scope[] = [{ lines: [], defines: new Set(), names: [] }];
  const names = new Map<Scalar, string>();
  const symbols = new Map<symbol, string>();
  const needs = new Map<Scalar, ReadonlySet<number | symbol>>();
  /** Loops that stand already, by their states: a loop with several results is several nodes with one list of states. */
  const standing = new Map<unknown, { readonly home: Scope; readonly states: readonly string[] }>();
  let count = 0;
  const fresh = (prefix: string): string => `${prefix}${count++}`;
  const needsOf = (scalar: Scalar): ReadonlySet<number | symbol> => {
    const known = needs.get(scalar);
    if (known !== undefined) return known;
    const found = new Set<number | symbol>();
    const all = (list: readonly Scalar[]): void => {
      for (const one of list) for (const need of needsOf(one)) found.add(need);
    };
    switch (scalar.kind) {
      case 'constant':
        break;
      case 'coordinate':
        found.add(scalar.axis);
        break;
      case 'variable':
        found.add(scalar.variable);
        break;
      case 'load':
        all(scalar.index);
        break;
      case 'apply':
        all(scalar.operands);
        break;
      case 'choose':
        all([scalar.condition, scalar.then, scalar.otherwise]);
        break;
      case 'loop':
        all([scalar.extent, scalar.result, ...scalar.state.flatMap(({ initial, next }) => [initial, next])]);
        found.delete(scalar.counter);
        for (const { variable } of scalar.state) found.delete(variable);
    }
    needs.set(scalar, found);
    return found;
  };
  /** The innermost open scope that defines something the value needs. */
  const scopeOf = (scalar: Scalar): Scope => {
    const wanted = needsOf(scalar);
    for (let depth = scopes.length - 1; depth > 0; depth--)
      for (const need of wanted) if (scopes[depth]!.defines.has(need)) return scopes[depth]!;
    return scopes[0]!;
  };
  const defined = (scalar: Scalar, text: string): string => {
    const scope = scopeOf(scalar);
    const name = fresh('t');
    scope.lines.push(language.define(name, dtypeOf(scalar), text));
    scope.names.push(scalar);
    names.set(scalar, name);
    return name;
  };
  const value = (scalar: Scalar): string => {
    const known = names.get(scalar);
    if (known !== undefined) return known;
    switch (scalar.kind) {
      case 'constant':
        return language.constant(scalar.value, scalar.dtype);
      case 'coordinate':
        return language.coordinate(scalar.axis);
      case 'variable': {
        const name = symbols.get(scalar.variable);
        if (name === undefined) throw new Error('internal: runtime/compile: a variable outside of its loop');
        return name;
      }
      case 'load':
        return defined(scalar, language.load(scalar.operand, value(scalar.index[0]!), scalar.dtype, scalar.index.length > 1));
      case 'apply': {
        const operands = scalar.operands.map(value);
        return defined(scalar, language.apply(scalar.apply, operands, scalar.dtype, scalar.operands.map(dtypeOf)));
      }
      case 'choose': {
        const [condition, then, otherwise] = [value(scalar.condition), value(scalar.then), value(scalar.otherwise)];
        return defined(scalar, language.choose(condition, then, otherwise, scalar.dtype));
      }
      case 'loop':
        return looped(scalar);
    }
  };
  const looped = (loop: Extract<Scalar, { kind: 'loop' }>): string => {
    const stands = standing.get(loop.state);
    if (stands !== undefined && scopes.includes(stands.home)) return resultOf(loop, stands.home, []);
    const extent = value(loop.extent);
    const starts = loop.state.map(({ initial }) => value(initial));
    const home = scopeOf(loop);
    const counter = fresh('i');
    const states = loop.state.map(() => fresh('s'));
    symbols.set(loop.counter, counter);
    loop.state.forEach(({ variable }, i) => symbols.set(variable, states[i]!));
    // The loop stands in its home scope; scopes that are open further in wait.
    const inner = scopes.splice(scopes.indexOf(home) + 1);
    const head = loop.state.map(({ dtype }, i) => language.variable(states[i]!, dtype, starts[i]!));
    const scope = open([loop.counter, ...loop.state.map(({ variable }) => variable)]);
    const next = loop.state.map(({ next: one }) => value(one));
    const plain = next.length === 1;
    const kept = plain
      ? next
      : next.map((text, i) => {
          const name = fresh('n');
          scope.lines.push(language.define(name, loop.state[i]!.dtype, text));
          return name;
        });
    kept.forEach((text, i) => scope.lines.push(language.assign(states[i]!, text)));
    const body = close();
    home.lines.push(...head, language.loop(counter, extent), ...body, language.end);
    standing.set(loop.state, { home, states });
    return resultOf(loop, home, inner);
  };
  /** What a loop that stands in `home` comes to; `waiting` are scopes to go on with afterwards. */
  const resultOf = (loop: Extract<Scalar, { kind: 'loop' }>, home: Scope, waiting: readonly Scope[]): string => {
    const inner = waiting.length > 0 ? waiting : scopes.splice(scopes.indexOf(home) + 1);
    const after: Scope = { lines: home.lines, defines: new Set(loop.state.map(({ variable }) => variable)), names: [] };
    scopes.push(after);
    const result = value(loop.result);
    scopes.pop();
    for (const one of after.names) names.delete(one);
    scopes.push(...inner);
    const name = fresh('t');
    home.lines.push(language.define(name, loop.dtype, result));
    home.names.push(loop);
    names.set(loop, name);
    return name;
  };
  const open = (defines: readonly (number | symbol)[]): Scope => {
    const scope: Scope = { lines: [], defines: new Set(defines), names: [] };
    scopes.push(scope);
    return scope;
  };
  const close = (): readonly string[] => {
    const scope = scopes.pop()!;
    for (const one of scope.names) names.delete(one);
    return scope.lines;
  };
  return {
    scopes,
    value,
    open,
    close,
    line: (text) => void scopes.at(-1)!.lines.push(text),
    bind: (symbol, name) => void symbols.set(symbol, name),
    fresh,
  };
}
