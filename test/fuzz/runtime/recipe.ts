/**
 * Random array programs as data, so that they can be run in every way there is, and made smaller when they fail.
 *
 * Depends on: steps, support/programs.
 */
import { grad, np, type Array as A } from '../../../runtime/index.ts';
import { draws } from '../../support/programs.ts';
import { kinds, steps } from './steps.ts';

export interface Instruction {
  readonly step: string;
  /** Which of the values so far, counted from the last. */
  readonly on: number;
  readonly seed: number;
}

export interface Recipe {
  readonly seed: number;
  readonly inputs: readonly (readonly number[])[];
  readonly instructions: readonly Instruction[];
  /** The gradient of the sum of all results is what comes out. */
  readonly differentiated: boolean;
  /** Which inputs are donated. */
  readonly donated: readonly number[];
}

const extents = [1, 2, 3, 4, 5, 8];
const mostElements = 600;

export function randomRecipe(seed: number): Recipe {
  const draw = draws(seed * 7 + 3);
  const inputs = Array.from({ length: 1 + draw(3) }, () =>
    Array.from({ length: draw(4) === 0 ? 1 : 2 }, () => extents[draw(extents.length)]!),
  );
  const total = kinds.reduce((sum, [, weight]) => sum + weight, 0);
  const instructions = Array.from({ length: 3 + draw(10) }, (): Instruction => {
    let at = draw(total);
    const [table] = kinds.find(([, weight]) => (at -= weight) < 0)!;
    const names = Object.keys(table);
    return { step: names[draw(names.length)]!, on: draw(3) === 0 ? draw(5) : 0, seed: draw(1_000_000) };
  });
  return { seed, inputs, instructions, differentiated: draw(5) === 0, donated: inputs.flatMap((_, i) => (draw(2) === 0 ? [i] : [])) };
}

/** Contents of an input, between -1 and 1. */
export const contentsOf = ({ seed, inputs }: Recipe, input: number): Float32Array => {
  const draw = draws(seed + input * 31 + 1);
  return Float32Array.from({ length: inputs[input]!.reduce((a, b) => a * b, 1) }, () => draw(2001) / 1000 - 1);
};

/** The program as a function of arrays; `ran` hears of each step. */
export function programOf(recipe: Recipe, ran: (step: string) => void = () => undefined): (...inputs: A[]) => A[] {
  const body = (...inputs: A[]): A[] => {
    const values: A[] = [...inputs];
    for (const { step, on, seed } of recipe.instructions) {
      const draw = draws(seed);
      const x = values[Math.max(0, values.length - 1 - on)]!;
      const other = (): A => values[draw(values.length)]!;
      const alike = (one: A): A => values.filter((value) => value.shape.join() === one.shape.join())[draw(3)] ?? one;
      const made = steps[step]!(x, { draw, other, alike });
      ran(step);
      values.push(made.size > mostElements ? made.reshape([made.size]).slice([0, 64]) : made);
    }
    const results = values.slice(inputs.length);
    // By place, not by identity: a step that changes nothing may hand its operand on, or make a second handle of it.
    const wanted = new Set([results.length - 1, results.length >> 1]);
    return results.filter((_, place) => wanted.has(place));
  };
  if (!recipe.differentiated) return body;
  const total = (own: A[]): A => body(...own).reduce((sum, one) => sum.add(one.sum()), np.zeros([]));
  return (...inputs) => grad(total)(inputs);
}
