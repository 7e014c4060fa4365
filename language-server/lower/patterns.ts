/**
 * Destructuring: a pattern becomes one property event per name, with the defaults as branches.
 *
 * Array patterns read by index; `...rest` by a `rest` event. Depends on: function, expressions, typescript.
 */
import ts from 'typescript';
import { assign, bare, copy, expression, literal, propertyName } from './expressions.ts';
import type { Lowering } from './function.ts';
import type { Key, Local, LocalFact } from './ir.ts';

/** Binds the names of a declaration's pattern to the parts of `value`. */
export function bind(fn: Lowering, name: ts.BindingName, value: Local, kind: LocalFact['kind'], statement: ts.Node): void {
  if (ts.isIdentifier(name)) {
    copy(fn, statement, fn.declare(name, kind), value);
    return;
  }
  const taken: string[] = [];
  name.elements.forEach((element, index) => {
    if (ts.isOmittedExpression(element)) return;
    const part = fn.temporary(fn.type(element.name));
    if (element.dotDotDotToken !== undefined) {
      fn.graph.emit({
        kind: 'rest',
        to: part,
        object: value,
        span: fn.span(statement),
        ...(ts.isArrayBindingPattern(name) ? { start: index } : { taken: [...taken] }),
      });
    } else {
      const key: Key = ts.isArrayBindingPattern(name)
        ? { kind: 'name', name: String(index) }
        : propertyName(fn, element.propertyName ?? (element.name as ts.Identifier));
      if (key.kind === 'name') taken.push(key.name);
      fn.graph.emit({ kind: 'property', to: part, object: value, key, pattern: true, span: fn.span(element) });
      if (element.initializer !== undefined) withDefault(fn, element.initializer, part);
    }
    bind(fn, element.name, part, kind, statement);
  });
}

/** Replaces an undefined `value` by its default. */
export function withDefault(fn: Lowering, initializer: ts.Expression, value: Local): void {
  const none = literal(fn, initializer, undefined);
  const test = fn.temporary();
  fn.graph.emit({ kind: 'binary', to: test, operator: '===', left: value, right: none, span: fn.span(initializer) });
  const [absent, after] = [fn.graph.block(), fn.graph.block()];
  fn.graph.end({ kind: 'branch', condition: test, then: absent, else: after, span: fn.span(initializer) });
  fn.graph.enter(absent);
  copy(fn, initializer, value, expression(fn, initializer));
  fn.graph.goto(after);
  fn.graph.enter(after);
}

/** `[a, b] = value` and `({ x: this.y } = value)`: targets are any assignable expression. */
export function assignPattern(
  fn: Lowering,
  pattern: ts.ArrayLiteralExpression | ts.ObjectLiteralExpression,
  value: Local,
  statement: ts.Node,
): void {
  const put = (target: ts.Expression, key: Key): void => {
    let left = bare(target);
    let initializer: ts.Expression | undefined;
    if (ts.isBinaryExpression(left) && left.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
      initializer = left.right;
      left = bare(left.left);
    }
    const part = fn.temporary(fn.type(left));
    fn.graph.emit({ kind: 'property', to: part, object: value, key, pattern: true, span: fn.span(target) });
    if (initializer !== undefined) withDefault(fn, initializer, part);
    assign(fn, left, part, statement);
  };
  if (ts.isArrayLiteralExpression(pattern)) {
    pattern.elements.forEach((element, index) => {
      if (ts.isOmittedExpression(element)) return;
      if (ts.isSpreadElement(element)) {
        const part = fn.temporary(fn.type(element.expression));
        fn.graph.emit({ kind: 'rest', to: part, object: value, start: index, span: fn.span(element) });
        assign(fn, element.expression, part, statement);
      } else put(element, { kind: 'name', name: String(index) });
    });
    return;
  }
  const taken: string[] = [];
  for (const property of pattern.properties) {
    if (ts.isShorthandPropertyAssignment(property)) {
      taken.push(property.name.text);
      const part = fn.temporary(fn.type(property.name));
      fn.graph.emit({
        kind: 'property',
        to: part,
        object: value,
        key: { kind: 'name', name: property.name.text },
        pattern: true,
        span: fn.span(property),
      });
      if (property.objectAssignmentInitializer !== undefined) withDefault(fn, property.objectAssignmentInitializer, part);
      assign(fn, property.name, part, statement);
    } else if (ts.isPropertyAssignment(property)) {
      const key = propertyName(fn, property.name);
      if (key.kind === 'name') taken.push(key.name);
      put(property.initializer, key);
    } else if (ts.isSpreadAssignment(property)) {
      const part = fn.temporary(fn.type(property.expression));
      fn.graph.emit({ kind: 'rest', to: part, object: value, taken, span: fn.span(property) });
      assign(fn, property.expression, part, statement);
    }
  }
}
