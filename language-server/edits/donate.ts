/**
 * Donation as text: at the `jit` that compiles the function, at one call of it, or taken away again.
 *
 * An options object that is there is extended in the form it has (a number, a list, names); one that isn't is added as
 * the last argument, laid out like the call. Depends on: typescript, edit, imports.
 */
import ts from 'typescript';
import { callAt, mannerOf, nodeAt, type Change, type Source } from './edit.ts';
import { imported } from './imports.ts';

/** Adds `argnums` to the donated arguments of the call of `jit`, `pmap` … at [start, end). */
export function donateAtJit(file: Source, start: number, end: number, argnums: readonly number[]): readonly Change[] | undefined {
  const call = callAt(file, start, end);
  if (call === undefined || call.arguments.length === 0 || call.arguments.some(ts.isSpreadElement)) return undefined;
  const options = call.arguments[1];
  if (options === undefined) return [newOptions(file, call, argnums)];
  if (!ts.isObjectLiteralExpression(options)) return undefined;
  const property = propertyOf(options, 'donateArgnums');
  if (property === undefined) return [newProperty(file, options, `donateArgnums: [${argnums.join(', ')}]`)];
  const donated = numbersOf(property.initializer);
  if (donated === undefined) return undefined;
  const all = [...new Set([...donated, ...argnums])].toSorted((a, b) => a - b);
  return [{ start: property.initializer.getStart(file.tree), end: property.initializer.end, text: `[${all.join(', ')}]` }];
}

/** Wraps the argument at [start, end) in `donate(…)`. `module` is the one that exports `donate`. */
export function donateAtCall(file: Source, start: number, end: number, module: string): readonly Change[] | undefined {
  const given = nodeAt(file, start, end, ts.isExpression);
  if (given === undefined || given.getStart(file.tree) !== start || given.end !== end) return undefined;
  const { written, changes } = imported(file, module, 'donate');
  return [...changes, { start, end: start, text: `${written}(` }, { start: end, end, text: ')' }];
}

export interface Drop {
  /** The call of `jit`. */
  readonly jit: { readonly start: number; readonly end: number };
  readonly argnum: number;
}

/** Takes one argument out of the options of `jit`, by its position or by the name its function gives it. */
export function dropDonation(file: Source, { jit, argnum }: Drop): readonly Change[] | undefined {
  const call = callAt(file, jit.start, jit.end);
  const options = call?.arguments[1];
  if (call === undefined || options === undefined || !ts.isObjectLiteralExpression(options)) return undefined;
  const name = parameterName(call.arguments[0], argnum);
  const numbers = propertyOf(options, 'donateArgnums');
  if (numbers !== undefined) {
    const donated = numbersOf(numbers.initializer);
    if (donated?.includes(argnum) === true)
      return [without(file, options, numbers, donated.filter((other) => other !== argnum).map(String))];
  }
  const names = propertyOf(options, 'donateArgnames');
  if (names !== undefined && name !== undefined) {
    const elements = ts.isArrayLiteralExpression(names.initializer) ? [...names.initializer.elements] : [names.initializer];
    const left = elements.filter((element) => !(ts.isStringLiteral(element) && element.text === name));
    if (left.length < elements.length)
      return [
        without(
          file,
          options,
          names,
          left.map((element) => element.getText(file.tree)),
        ),
      ];
  }
  return undefined;
}

/** `donate(x)` becomes `x` again. */
export function dropDonate(file: Source, start: number, end: number): readonly Change[] | undefined {
  const given = callAt(file, start, end);
  const [inner] = given?.arguments ?? [];
  if (given === undefined || inner === undefined || given.arguments.length !== 1 || given.getStart(file.tree) !== start) return undefined;
  return [
    { start, end: inner.getStart(file.tree), text: '' },
    { start: inner.end, end: given.end, text: '' },
  ];
}

function newOptions(file: Source, call: ts.CallExpression, argnums: readonly number[]): Change {
  const { text, tree } = file;
  const { braceSpace, indent, lineEnd } = mannerOf(file);
  const literal = `{${braceSpace}donateArgnums: [${argnums.join(', ')}]${braceSpace}}`;
  const last = call.arguments.at(-1)!;
  const between = text.slice(last.end, call.end - 1);
  const onOwnLine = text.slice(call.expression.end, last.getStart(tree)).includes('\n');
  if (!onOwnLine) return { start: last.end, end: call.end - 1, text: `, ${literal}` };
  const inner = indentOfLine(text, last.getStart(tree)) || indent;
  const trailing = between.includes(',') || between.includes('\n') ? ',' : '';
  const close = /\n[ \t]*$/.exec(between)?.[0] ?? '';
  return {
    start: last.end,
    end: call.end - 1,
    text: `,${lineEnd}${inner}${literal}${between.includes(',') ? trailing : ''}${close.replace(/^\n/, lineEnd)}`,
  };
}

function newProperty(file: Source, options: ts.ObjectLiteralExpression, property: string): Change {
  const { text, tree } = file;
  const { braceSpace, lineEnd } = mannerOf(file);
  const last = options.properties.at(-1);
  if (last === undefined) return { start: options.getStart(tree), end: options.end, text: `{${braceSpace}${property}${braceSpace}}` };
  const start = last.getStart(tree);
  const ownLine = /\n[ \t]*$/.test(text.slice(options.getStart(tree), start));
  return { start: last.end, end: last.end, text: ownLine ? `,${lineEnd}${indentOfLine(text, start)}${property}` : `, ${property}` };
}

/** The property with fewer elements; without any, the property, and without properties, the whole options, are gone. */
function without(file: Source, options: ts.ObjectLiteralExpression, property: ts.PropertyAssignment, left: readonly string[]): Change {
  const { tree } = file;
  if (left.length > 0) return { start: property.initializer.getStart(tree), end: property.initializer.end, text: `[${left.join(', ')}]` };
  const { properties } = options;
  if (properties.length === 1) {
    const call = options.parent;
    const before = ts.isCallExpression(call) ? call.arguments[call.arguments.indexOf(options) - 1] : undefined;
    return { start: before?.end ?? options.getStart(tree), end: options.end, text: '' };
  }
  const index = properties.indexOf(property);
  const former = properties[index - 1];
  const next = properties[index + 1];
  return former === undefined
    ? { start: property.getStart(tree), end: next!.getStart(tree), text: '' }
    : { start: former.end, end: property.end, text: '' };
}

function propertyOf(options: ts.ObjectLiteralExpression, name: string): ts.PropertyAssignment | undefined {
  return options.properties.find(
    (property): property is ts.PropertyAssignment =>
      ts.isPropertyAssignment(property) &&
      (ts.isIdentifier(property.name) || ts.isStringLiteral(property.name)) &&
      property.name.text === name,
  );
}

/** The numbers of `2` or `[0, 2]`; undefined when the text doesn't say them. */
function numbersOf(expression: ts.Expression): readonly number[] | undefined {
  const elements = ts.isArrayLiteralExpression(expression) ? [...expression.elements] : [expression];
  const numbers = elements.map((element) => (ts.isNumericLiteral(element) ? Number(element.text) : undefined));
  return numbers.some((number) => number === undefined) ? undefined : numbers.map(Number);
}

const indentOfLine = (text: string, offset: number): string => /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))![0];

/** What the function written at the `jit` itself calls its parameter. */
function parameterName(compiled: ts.Expression | undefined, position: number): string | undefined {
  if (compiled === undefined || !(ts.isArrowFunction(compiled) || ts.isFunctionExpression(compiled))) return undefined;
  const name = compiled.parameters[position]?.name;
  return name !== undefined && ts.isIdentifier(name) ? name.text : undefined;
}
