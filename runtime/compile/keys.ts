/**
 * Names for scalar expressions by structure: two expressions with one key compute the same.
 *
 * Symbols and functions are numbered in the order in which they are met, so keys are stable for one way of building.
 * Depends on: ops.
 */
import type { Scalar, ScalarFunction } from '../ops/scalar.ts';

export interface Keys {
  readonly of: (scalar: Scalar) => string;
}

export function makeKeys(): Keys {
  const functions = new Map<ScalarFunction, string>();
  const symbols = new Map<symbol, string>();
  const names = new Map<string, string>();
  const known = new WeakMap<Scalar, string>();
  const nameOf = <T>(map: Map<T, string>, one: T, prefix: string): string => {
    const name = map.get(one) ?? `${prefix}${map.size}`;
    map.set(one, name);
    return name;
  };
  /** Long texts get a short name, so keys of deep expressions stay short. */
  const short = (text: string): string => (text.length < 60 ? text : nameOf(names, text, '#'));
  const text = (scalar: Scalar): string => {
    switch (scalar.kind) {
      case 'constant':
        return `${Object.is(scalar.value, -0) ? '-0' : scalar.value}${scalar.dtype[0]!}`;
      case 'coordinate':
        return `c${scalar.axis}`;
      case 'variable':
        return nameOf(symbols, scalar.variable, 'v');
      case 'load':
        return `l${scalar.operand}[${scalar.index.map(of).join()}]`;
      case 'apply':
        return `${nameOf(functions, scalar.apply, 'f')}${scalar.dtype[0]!}(${scalar.operands.map(of).join()})`;
      case 'choose':
        return `(${of(scalar.condition)}?${of(scalar.then)}:${of(scalar.otherwise)})`;
      case 'loop':
        return `loop ${nameOf(symbols, scalar.counter, 'v')}<${of(scalar.extent)} ${scalar.state.map(({ variable, initial, next }) => `${nameOf(symbols, variable, 'v')}=${of(initial)};${of(next)}`).join()} ${of(scalar.result)}`;
    }
  };
  const of = (scalar: Scalar): string => {
    let key = known.get(scalar);
    if (key === undefined) {
      key = short(text(scalar));
      known.set(scalar, key);
    }
    return key;
  };
  return { of };
}
