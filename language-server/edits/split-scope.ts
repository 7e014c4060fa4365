/**
 * What a scope yields as a promise is taken apart: the array is computed inside, its reading awaited outside, and then it
 * is freed. Only where the function around may await, and what reads the array needs nothing else of the scope.
 * Depends on: typescript, edit, dispose.
 */
import ts from 'typescript';
import { freshName } from './dispose.ts';
import { callAt, indentAt, isStatement, lineAfter, mannerOf, type Change, type Source } from './edit.ts';

type Callback = ts.ArrowFunction | ts.FunctionExpression;

export function splitScope(file: Source, start: number, end: number, verb: string): readonly Change[] | undefined {
  const { text, tree } = file;
  const scope = callAt(file, start, end);
  const callback = scope?.arguments.at(-1);
  if (scope === undefined || callback === undefined || !(ts.isArrowFunction(callback) || ts.isFunctionExpression(callback)))
    return undefined;
  const work = yielded(callback);
  const array = work === undefined ? undefined : readBy(work);
  const awaiting = ts.isAwaitExpression(scope.parent) ? scope.parent : scope;
  const statement = ts.findAncestor(awaiting, isStatement);
  if (work === undefined || array === undefined || statement === undefined || !isInAsync(scope, statement)) return undefined;
  const declared = namesIn(callback);
  const rest = `${text.slice(work.getStart(tree), array.getStart(tree))} ${text.slice(array.end, work.end)}`;
  if ([...declared].some((name) => new RegExp(`(?<![\\w$.])${name}(?![\\w$])`).test(rest))) return undefined;
  const { semicolon, lineEnd } = mannerOf(file);
  const line = `${lineEnd}${indentAt(file, statement.getStart(tree))}`;
  const kept = freshName(file, 'kept');
  const inside = text.slice(scope.getStart(tree), work.getStart(tree)) + array.getText(tree) + text.slice(work.end, scope.end);
  const first = `const ${kept} = ${inside}${semicolon}${line}`;
  const reading = `await ${text.slice(work.getStart(tree), array.getStart(tree))}${kept}${text.slice(array.end, work.end)}`;
  const replaced: Change = { start: awaiting.getStart(tree), end: awaiting.end, text: reading };
  const free = `${kept}.${verb}()${semicolon}`;
  const at = statement.getStart(tree);
  if (ts.isReturnStatement(statement)) {
    const value = statement.expression!;
    const result = freshName(file, 'result');
    const tail = text[statement.end - 1] === ';' ? ';' : '';
    const head = `${first}const ${result} = `;
    const foot = `${tail}${line}${free}${line}return ${result}${tail}`;
    return value === awaiting
      ? [{ start: at, end: statement.end, text: `${head}${reading}${foot}` }]
      : [{ start: at, end: value.getStart(tree), text: head }, replaced, { start: value.end, end: statement.end, text: foot }];
  }
  if (!ts.isVariableStatement(statement) && !ts.isExpressionStatement(statement)) return undefined;
  const opening: readonly Change[] =
    at === replaced.start ? [{ ...replaced, text: first + reading }] : [{ start: at, end: at, text: first }, replaced];
  return [...opening, lineAfter(file, statement, free)];
}

/** `await` before a call whose promise is dropped, in place of a `void`. */
export function awaitCall(file: Source, start: number, end: number): readonly Change[] | undefined {
  const call = callAt(file, start, end);
  const statement = call === undefined ? undefined : ts.findAncestor(call, isStatement);
  if (call === undefined || statement === undefined || !ts.isExpressionStatement(statement) || !isInAsync(call, statement))
    return undefined;
  const { expression } = statement;
  if (expression !== call && !(ts.isVoidExpression(expression) && expression.expression === call)) return undefined;
  return [{ start: expression.getStart(file.tree), end: call.getStart(file.tree), text: 'await ' }];
}

/** The one expression that a callback yields: its body, or what its last statement returns. */
function yielded(callback: Callback): ts.CallExpression | undefined {
  if (callback.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) === true) return undefined;
  let found: ts.Expression | undefined;
  if (!ts.isBlock(callback.body)) found = callback.body;
  else {
    const last = callback.body.statements.at(-1);
    if (last !== undefined && ts.isReturnStatement(last) && countReturns(callback.body) === 1) found = last.expression;
  }
  return found !== undefined && ts.isCallExpression(found) ? found : undefined;
}

/** How many `return`s a function's body has, those of functions in it left out. */
export function countReturns(node: ts.Node): number {
  let count = 0;
  ts.forEachChild(node, (child) => {
    if (ts.isReturnStatement(child)) count++;
    else if (!ts.isFunctionLike(child)) count += countReturns(child);
  });
  return count;
}

/** What a call reads: the receiver of `x.data()`, else the first argument of `toPixels(x, canvas)`. */
function readBy(work: ts.CallExpression): ts.Expression | undefined {
  if (work.arguments.length > 0) return work.arguments[0];
  return ts.isPropertyAccessExpression(work.expression) ? work.expression.expression : undefined;
}

/** Does the nearest function around it, in which the statement stands too, await? The top level of a module does. */
function isInAsync(node: ts.Node, statement: ts.Statement): boolean {
  const around = ts.findAncestor(node, ts.isFunctionLike);
  if (ts.findAncestor(statement, ts.isFunctionLike) !== around) return false;
  if (around === undefined) return true;
  return ts.canHaveModifiers(around) && (ts.getModifiers(around) ?? []).some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword);
}

export function namesIn(node: ts.Node): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (at: ts.Node): void => {
    if ((ts.isVariableDeclaration(at) || ts.isBindingElement(at) || ts.isParameter(at)) && ts.isIdentifier(at.name))
      found.add(at.name.text);
    ts.forEachChild(at, visit);
  };
  visit(node);
  return found;
}
