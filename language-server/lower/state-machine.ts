/**
 * Asynchronous functions that a compiler has turned into state machines: lowered as what they were.
 *
 * In `return __awaiter(this, …, function () { … return __generator(this, function (_a) { switch (_a.label) { … } }); })`
 * each case is a block, a returned pair an instruction (2 return, 3 jump, 4 await, 7 end of a `finally`), `_a.sent()` what
 * was awaited or caught, and `_a.trys.push([try, catch, finally, end])` a region. An exception reaches a `finally` that has
 * no `catch` in no way, as elsewhere. Depends on: statements, expressions, function, ir, typescript.
 */
import ts from 'typescript';
import { copy, expression, opaque } from './expressions.ts';
import type { Lowering, StateMachine } from './function.ts';
import type { BlockId } from './ir.ts';
import { one, statements } from './statements.ts';
import { unknownType } from './types.ts';

/** The parts of such a function. */
interface Compiled {
  readonly before: readonly ts.Statement[];
  readonly states: ts.Identifier;
  readonly cases: readonly Case[];
}

interface Case {
  readonly label: number;
  readonly statements: readonly ts.Statement[];
}

/** Labels: where the `try` begins, its `catch` and `finally` where it has them, and what follows. */
interface Region {
  readonly from: number;
  readonly catches?: number;
  readonly finally?: number;
  readonly end: number;
}

/** Lowers the state machine that a `return` starts; false where it starts none. */
export function asynchronous(fn: Lowering, node: ts.ReturnStatement): boolean {
  const compiled = compiledOf(node.expression);
  if (compiled === undefined) return false;
  fn.asynchronous = true;
  statements(fn, compiled.before, node);
  const outside = { machine: fn.machine, handler: fn.graph.handler };
  run(fn, compiled, node);
  fn.machine = outside.machine;
  fn.graph.handler = outside.handler;
  fn.graph.dead();
  return true;
}

function compiledOf(node: ts.Expression | undefined): Compiled | undefined {
  const body = node === undefined ? undefined : functionGivenTo('__awaiter', node)?.body;
  const last = body?.statements.at(-1);
  const machine = last !== undefined && ts.isReturnStatement(last) ? functionGivenTo('__generator', last.expression) : undefined;
  const states = machine?.parameters[0]?.name;
  if (body === undefined || machine === undefined || states === undefined || !ts.isIdentifier(states)) return undefined;
  const [first] = machine.body.statements;
  const clauses: readonly { readonly label: number | undefined; readonly statements: readonly ts.Statement[] }[] =
    machine.body.statements.length === 1 && first !== undefined && ts.isSwitchStatement(first)
      ? first.caseBlock.clauses.map((clause) => ({
          label: ts.isCaseClause(clause) ? numberOf(clause.expression) : undefined,
          statements: clause.statements,
        }))
      : [{ label: 0, statements: machine.body.statements }];
  const cases = clauses.filter((clause): clause is Case => clause.label !== undefined);
  return cases.length > 0 && cases.length === clauses.length ? { before: body.statements.slice(0, -1), states, cases } : undefined;
}

/** The function that a call of a compiler's helper is given last; `tslib.__awaiter` is one too. */
function functionGivenTo(helper: string, node: ts.Expression | undefined): ts.FunctionExpression | undefined {
  if (node === undefined || !ts.isCallExpression(node)) return undefined;
  const { expression: callee } = node;
  const name = ts.isPropertyAccessExpression(callee) ? callee.name.text : ts.isIdentifier(callee) ? callee.text : '';
  const given = node.arguments.at(-1);
  return name === helper && given !== undefined && ts.isFunctionExpression(given) && given.asteriskToken === undefined ? given : undefined;
}

const numberOf = (node: ts.Expression | undefined): number | undefined =>
  node !== undefined && ts.isNumericLiteral(node) ? Number(node.text) : undefined;

function run(fn: Lowering, { states, cases }: Compiled, node: ts.ReturnStatement): void {
  const { graph } = fn;
  const outside = graph.handler;
  const regions = regionsOf(states.text, cases);
  const blocks = new Map<number, BlockId>();
  const handlerOf = (label: number): BlockId | undefined => {
    const around = regions.findLast((region) => region.catches !== undefined && region.from < label && label < region.catches);
    return around === undefined ? outside : blocks.get(around.catches!);
  };
  // Handlers first: a block is made with the handler that is in force for it.
  for (const { label } of [...cases].toReversed()) {
    graph.handler = handlerOf(label);
    blocks.set(label, graph.block());
  }
  const sent = graph.local({ kind: 'temporary', type: unknownType, captured: false });
  const jumps: { readonly from: number; readonly to: number }[] = [];
  const extents = new Map<number, readonly [number, number]>();
  let label = 0;
  const goto = (to: number): void => {
    const block = blocks.get(to);
    if (block === undefined) return graph.end({ kind: 'unreachable' });
    if (to <= label) jumps.push({ from: label, to });
    graph.goto(block);
  };
  const instruction = (given: ts.ArrayLiteralExpression): boolean => {
    const code = numberOf(given.elements[0]);
    const operand = given.elements[1];
    if (code === undefined || given.elements.length > 2) return false;
    const inFinally = regions.findLast((region) => region.finally !== undefined && region.from <= label && label < region.finally);
    switch (code) {
      case 2: {
        const value = operand === undefined ? undefined : expression(fn, operand);
        const last = inFinally === undefined ? undefined : cases.find((one_) => one_.label === inFinally.finally);
        for (const statement of last?.statements ?? []) if (!ts.isReturnStatement(statement)) one(fn, statement, []);
        graph.end({ kind: 'return', span: fn.span(given), ...(value === undefined ? {} : { value }) });
        break;
      }
      case 3: {
        const to = numberOf(operand) ?? -1;
        goto(inFinally !== undefined && (to <= inFinally.from || inFinally.end <= to) ? inFinally.finally! : to);
        break;
      }
      case 4:
      case 5: {
        const value = operand === undefined ? sent : expression(fn, operand);
        if (code === 4 && operand !== undefined) {
          const { promise: _, ...type } = fn.type(operand);
          const awaited = fn.temporary(type);
          graph.emit({ kind: 'await', to: awaited, value, span: fn.span(operand) });
          copy(fn, given, sent, awaited);
        } else copy(fn, given, sent, opaque(fn, given, [value], 'delegated yield'));
        goto(label + 1);
        break;
      }
      case 7: {
        const ended = regions.findLast((region) => region.finally !== undefined && region.finally <= label && label < region.end);
        goto(ended?.end ?? label + 1);
        break;
      }
      default:
        return false;
    }
    graph.dead();
    return true;
  };
  const enter = (from: number): void => {
    const region = regions.find((candidate) => candidate.from === from);
    if (region?.catches === undefined) return;
    graph.handler = blocks.get(region.catches);
    graph.fresh();
  };
  fn.machine = { states: states.text, sent, instruction, enter };
  graph.goto(blocks.get(cases[0]!.label)!);
  cases.forEach((one_, i) => {
    label = one_.label;
    graph.handler = handlerOf(label);
    graph.enter(blocks.get(label)!);
    const size = graph.size;
    if (regions.some((region) => region.catches === label)) graph.emit({ kind: 'caught', to: sent, span: fn.span(node) });
    for (const statement of one_.statements) one(fn, statement, []);
    const next = cases[i + 1];
    if (next !== undefined) goto(next.label);
    else graph.end({ kind: 'return', span: fn.span(node) });
    extents.set(label, [size, graph.size]);
  });
  for (const head of new Set(jumps.map(({ to }) => to))) {
    const last = Math.max(...jumps.filter(({ to }) => to === head).map(({ from }) => from));
    const inside = cases.filter((one_) => head <= one_.label && one_.label <= last);
    const ids = inside.flatMap(({ label: at }) => {
      const [from, to] = extents.get(at)!;
      return [blocks.get(at)!, ...Array.from({ length: to - from }, (_, i) => from + i)];
    });
    graph.markLoopOf(blocks.get(head)!, ids);
  }
}

/** Outer regions come first. */
function regionsOf(states: string, cases: readonly Case[]): readonly Region[] {
  const found: Region[] = [];
  const visit = (node: ts.Node): void => {
    const labels = regionOf(states, node);
    if (labels !== undefined) found.push(labels);
    else if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit);
  };
  for (const { statements: list } of cases) list.forEach(visit);
  return found.toSorted((a, b) => a.from - b.from || b.end - a.end);
}

/** `_a.trys.push([1, 4, , 5])`. */
function regionOf(states: string, node: ts.Node): Region | undefined {
  if (!ts.isCallExpression(node) || node.expression.getText() !== `${states}.trys.push`) return undefined;
  const [given] = node.arguments;
  if (given === undefined || !ts.isArrayLiteralExpression(given)) return undefined;
  const [from, catches, final, end] = given.elements.map(numberOf);
  return from === undefined || end === undefined
    ? undefined
    : { from, end, ...(catches === undefined ? {} : { catches }), ...(final === undefined ? {} : { finally: final }) };
}

/** Statements that only a state machine has: false for all others. */
export function instructed(machine: StateMachine, node: ts.Statement): boolean {
  if (ts.isReturnStatement(node))
    return node.expression !== undefined && ts.isArrayLiteralExpression(node.expression) && machine.instruction(node.expression);
  if (!ts.isExpressionStatement(node)) return false;
  const region = regionOf(machine.states, node.expression);
  if (region !== undefined) machine.enter(region.from);
  return region !== undefined || isLabel(machine.states, node.expression);
}

const isLabel = (states: string, node: ts.Expression): boolean =>
  ts.isBinaryExpression(node) && node.left.getText() === `${states}.label` && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;

/** `var __awaiter = (this && this.__awaiter) || function …`: of no interest by itself. */
export const isCompilersOwn = (name: string, initializer: ts.Expression): boolean =>
  name.startsWith('__') &&
  ts.isBinaryExpression(initializer) &&
  initializer.operatorToken.kind === ts.SyntaxKind.BarBarToken &&
  initializer.left.getText().replace(/[()\s]/g, '') === `this&&this.${name}`;

/** `_a.sent()`. */
export const isSent = (machine: StateMachine, node: ts.Expression): boolean =>
  ts.isCallExpression(node) &&
  ts.isPropertyAccessExpression(node.expression) &&
  node.expression.name.text === 'sent' &&
  ts.isIdentifier(node.expression.expression) &&
  node.expression.expression.text === machine.states;
