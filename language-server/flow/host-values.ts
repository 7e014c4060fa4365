/**
 * Host data: what operators yield, which tests are the same test, and what a branch teaches.
 *
 * Depends on: state, values.
 */
import type { State } from './state.ts';
import { hostValue, literalValue, undefinedValue, type Node, type Value } from './values.ts';

export function unary(state: State, operator: string, value: Value, fresh: Value): Value {
  if (operator === '!') {
    const truth = truthOf(state, value);
    if (truth !== undefined) return literalValue(!truth);
    return value.kind === 'host' && value.symbol !== '' ? hostValue(`!(${value.symbol})`) : fresh;
  }
  if (operator === 'nullish') {
    if (value.kind === 'literal') return literalValue(value.value === undefined || value.value === null);
    if (value.kind !== 'host') return literalValue(false);
    if (value.symbol === '') return fresh;
    if (state.facts.get(value.symbol) === true) return literalValue(false);
    return value.type !== undefined &&
      value.type.nullable !== true &&
      value.type.holds !== 'unknown' &&
      value.type.callable !== true &&
      value.type.name !== undefined
      ? literalValue(false)
      : hostValue(`nullish(${value.symbol})`);
  }
  if (operator === 'void') return undefinedValue;
  if (operator === 'typeof' && value.kind === 'host' && value.symbol !== '') return hostValue(`typeof(${value.symbol})`);
  return fresh;
}

/** Is a value true as a condition, as far as known on this path? */
export function truthOf(state: State, value: Value): boolean | undefined {
  if (value.kind === 'literal') return Boolean(value.value);
  if (value.kind !== 'host') return true;
  if (value.symbol.startsWith('!(')) {
    const inner = truthOf(state, hostValue(value.symbol.slice(2, -1)));
    return inner === undefined ? undefined : !inner;
  }
  return state.facts.get(value.symbol);
}

export function assume(state: State, value: Value, truth: boolean): void {
  if (value.kind !== 'host' || value.symbol === '') return;
  if (value.symbol.startsWith('!(')) return assume(state, hostValue(value.symbol.slice(2, -1)), !truth);
  state.facts.set(value.symbol, truth);
  if (truth && !value.symbol.startsWith('nullish(')) state.facts.set(`nullish(${value.symbol})`, false);
}

export function binary(state: State, operator: string, left: Value, right: Value, fresh: () => Value): Value {
  const equality = operator === '===' || operator === '==' ? true : operator === '!==' || operator === '!=' ? false : undefined;
  const negate = (value: Value): Value =>
    value.kind === 'literal' ? literalValue(!value.value) : value.kind === 'host' ? hostValue(`!(${value.symbol})`) : value;
  if (equality !== undefined) {
    const same = equal(state, left, right, operator.length === 2);
    return same === undefined ? fresh() : equality ? same : negate(same);
  }
  if (left.kind === 'literal' && right.kind === 'literal' && typeof left.value === 'number' && typeof right.value === 'number') {
    const known = compared(state, operator, left.value, right.value) ?? counted(state, operator, left.value, right.value);
    if (known !== undefined) return literalValue(known);
  }
  if (operator === '<' || operator === '>' || operator === '<=' || operator === '>=') {
    const flipped = operator === '>' || operator === '<=';
    const [a, b] = flipped ? [right, left] : [left, right];
    if ((a.kind === 'host' && a.symbol === '') || (b.kind === 'host' && b.symbol === '') || a.key.length + b.key.length > 240)
      return fresh();
    const less = hostValue(`(${a.key}<${b.key})`);
    return operator === '<' || operator === '>' ? less : negate(less);
  }
  if (operator === 'instanceof' || operator === 'in') return related(operator, left, right) ?? fresh();
  return reckoned(operator, left, right) ?? fresh();
}

/** `x instanceof C`, `'name' in x`: asked again of the same value, the same test. */
function related(operator: string, left: Value, right: Value): Value | undefined {
  const [of, by] = operator === 'in' ? [right, left] : [left, right];
  if (operator === 'instanceof' && of.kind === 'literal') return literalValue(false);
  const named = of.kind === 'host' && of.symbol !== '' && !(by.kind === 'host' && by.symbol === '');
  return named && left.key.length + right.key.length < 240 ? hostValue(`(${left.key} ${operator} ${right.key})`) : undefined;
}

/** Functions of the language whose answer depends on their argument alone: asked again, the same test. */
const tests = /^(ArrayConstructor\.isArray|ArrayBufferConstructor\.isView|NumberConstructor\.is\w+|isNaN|isFinite)$/;

export const testOf = (name: string, [value]: readonly Value[]): Value | undefined =>
  value?.kind === 'host' && value.symbol !== '' && tests.test(name) ? hostValue(`${name}(${value.symbol})`) : undefined;

/** How many properties deep a value of unknown code keeps its name: a walk along a list gives up there. */
const deepest = 4;

/** A property of host data, read twice, is the same; `fresh` names one that lies too deep. */
export function propertyOf(state: State, symbol: string, key: string, fresh: string): string {
  if (symbol !== '' && symbol.split(';').length <= deepest + 1) return `${symbol}.${key};`;
  state.renew(fresh);
  return `${fresh};`;
}

/** A property of host data is written: what was known of it is forgotten. */
export function written(state: State, object: Value, key: string): void {
  if (object.kind !== 'host' || object.symbol === '') return;
  const mark = key.startsWith('[') ? `${object.symbol}.` : `${object.symbol}.${key};`;
  for (const fact of [...state.facts.keys()]) if (fact.includes(mark)) state.facts.delete(fact);
}

/** The longest loop that is walked round by round. */
const mostRounds = 6;

/** A comparison of known numbers; that a counter is still below its end is kept for its next step. */
function compared(state: State, operator: string, left: number, right: number): boolean | undefined {
  const truth =
    operator === '<'
      ? left < right
      : operator === '>'
        ? left > right
        : operator === '<='
          ? left <= right
          : operator === '>='
            ? left >= right
            : undefined;
  if (truth === true && left >= 0 && Math.max(left, right) <= mostRounds) state.facts.set(`counts ${left}`, true);
  return truth;
}

/** A step of a counter whose end is known and near: of others the next value is any. */
function counted(state: State, operator: string, left: number, right: number): number | undefined {
  if (right !== 1 || left < 0 || left > mostRounds) return undefined;
  if (operator === '-') return left === 0 && !state.facts.delete('counts 0') ? undefined : left - 1;
  return operator === '+' && state.facts.delete(`counts ${left}`) ? left + 1 : undefined;
}

/** The same sum of the same values is the same value; sums of sums are not followed, so that a loop's counter stays one. */
function reckoned(operator: string, left: Value, right: Value): Value | undefined {
  const plain = (value: Value): boolean =>
    (value.kind === 'literal' && typeof value.value === 'number') ||
    (value.kind === 'host' && value.symbol !== '' && !value.symbol.startsWith('('));
  const known = /^[-+*/%]$/.test(operator) && plain(left) && plain(right) && left.kind !== right.kind;
  const both = left.kind === 'host' && right.kind === 'host' && plain(left) && plain(right) && operator === '-';
  return (known || both) && left.key.length + right.key.length < 160 ? hostValue(`(${left.key}${operator}${right.key})`) : undefined;
}

/** Does a symbol stand for true or false? */
const isTest = (symbol: string): boolean => /^!*[\w.]*\(/.test(symbol);

/** An array that the function had made, and that nobody else knows: no other is the same. */
const isOwn = ({ many, shape, life }: Node): boolean =>
  shape === 'array' && !many && life !== undefined && life.origin === 'here' && !life.escaped && life.foreign !== true;

export function equal(state: State, left: Value, right: Value, loose: boolean): Value | undefined {
  if (left.kind === 'marked') return equal(state, left.of, right, loose);
  const absent = (value: Value): boolean => value.kind === 'literal' && (value.value === undefined || value.value === null);
  if (left.kind === 'literal' && right.kind === 'literal')
    return literalValue(left.value === right.value || (loose && absent(left) && absent(right)));
  if (left.kind === 'host' && left.symbol !== '' && left.key === right.key) return literalValue(true);
  for (const [a, b] of [
    [left, right],
    [right, left],
  ] as const) {
    const test = a.kind === 'literal' && typeof a.value === 'boolean' && b.kind === 'host' && isTest(b.symbol) ? b : undefined;
    if (test !== undefined && a.kind === 'literal') return a.value === true ? test : unary(state, '!', test, test);
    const node = a.kind === 'object' && b.kind === 'host' ? state.get(a.id) : undefined;
    if (node !== undefined && isOwn(node)) return literalValue(false);
    if (!absent(a)) continue;
    if (b.kind === 'host')
      return b.symbol === '' ? undefined : state.facts.get(b.symbol) === true ? literalValue(false) : hostValue(`nullish(${b.symbol})`);
    return literalValue(false);
  }
  if (left.kind === 'object' && right.kind === 'object') {
    const [a, b] = [state.get(left.id), state.get(right.id)];
    if (a === undefined || b === undefined) return undefined;
    if (left.id === right.id) return a.many ? undefined : literalValue(true);
    return (a.life?.origin === 'here' && b.life?.origin === 'here') ||
      isOwn(a) ||
      isOwn(b) ||
      (a.life === undefined && b.life === undefined && !a.open && !b.open)
      ? literalValue(false)
      : undefined;
  }
  if (
    left.kind === 'host' &&
    left.symbol !== '' &&
    right.kind !== 'object' &&
    right.key.length + left.key.length < 240 &&
    !(right.kind === 'host' && right.symbol === '')
  )
    return hostValue(`(${left.key}===${right.key})`);
  if (right.kind === 'host' && right.symbol !== '' && left.kind === 'literal') return hostValue(`(${right.key}===${left.key})`);
  return undefined;
}
