/**
 * Walks over scalar expressions, each shared node once.
 *
 * Depends on: ops.
 */
import type { Scalar } from '../ops/scalar.ts';

/** Rebuilds an expression from the leaves up; nodes that don't change are kept, so sharing survives. */
export function mapScalar(scalar: Scalar, change: (one: Scalar) => Scalar, memo = new Map<Scalar, Scalar>()): Scalar {
  const known = memo.get(scalar);
  if (known !== undefined) return known;
  const made = change(rebuilt(scalar, (one) => mapScalar(one, change, memo)));
  memo.set(scalar, made);
  return made;
}

/** With its parts mapped; itself when none of them changes. */
export function rebuilt(scalar: Scalar, part: (one: Scalar) => Scalar): Scalar {
  const each = (list: readonly Scalar[]): readonly Scalar[] => {
    const mapped = list.map(part);
    return mapped.every((one, i) => one === list[i]) ? list : mapped;
  };
  switch (scalar.kind) {
    case 'constant':
    case 'coordinate':
    case 'variable':
      return scalar;
    case 'load': {
      const index = each(scalar.index);
      return index === scalar.index ? scalar : { ...scalar, index };
    }
    case 'apply': {
      const operands = each(scalar.operands);
      return operands === scalar.operands ? scalar : { ...scalar, operands };
    }
    case 'choose': {
      const parts = [scalar.condition, scalar.then, scalar.otherwise];
      const [condition, then, otherwise] = each(parts);
      return condition === parts[0] && then === parts[1] && otherwise === parts[2]
        ? scalar
        : { ...scalar, condition: condition!, then: then!, otherwise: otherwise! };
    }
    case 'loop': {
      const before = [scalar.extent, scalar.result, ...scalar.state.flatMap(({ initial, next }) => [initial, next])];
      const after = each(before);
      if (after === before) return scalar;
      return {
        ...scalar,
        extent: after[0]!,
        result: after[1]!,
        state: scalar.state.map((one, i) => ({ ...one, initial: after[2 + 2 * i]!, next: after[3 + 2 * i]! })),
      };
    }
  }
}

/** Every node once, children first. */
export function visit(scalars: readonly Scalar[], see: (one: Scalar) => void): void {
  const memo = new Map<Scalar, Scalar>();
  for (const scalar of scalars)
    mapScalar(
      scalar,
      (one) => {
        see(one);
        return one;
      },
      memo,
    );
}
