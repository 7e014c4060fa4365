/**
 * Pairs donated inputs with outputs that can take their bytes.
 *
 * By bytes and by life: an output can have a donated buffer only if it is born when the input is no longer needed (or is
 * written over it element by element), so no pair costs a copy. As many bytes as possible are paired: larger ones first,
 * and within one size a maximum matching (augmenting paths; Kuhn 1955), not first in, first out.
 * Depends on: nothing.
 */

/** An argument whose donation saves less than this share of what all donations save is not worth giving away. */
export const leastShare = 0.01;

export interface Donated {
  readonly bytes: number;
  /** First step at which it is no longer needed; absent: unknown, taken as early enough. */
  readonly dies?: number;
}

export interface Receiver {
  readonly bytes: number;
  /** Step at which it is first written; absent: taken as late enough. */
  readonly born?: number;
  /** The donated input that it is written over element by element, by position. */
  readonly over?: number;
}

export interface Pair {
  readonly input: number;
  readonly output: number;
}

export function pairDonations(inputs: readonly Donated[], outputs: readonly Receiver[]): readonly Pair[] {
  const takenBy = new Map<number, number>();
  const outputOf = new Map<number, number>();
  outputs.forEach(({ over }, output) => {
    if (over === undefined || takenBy.has(over) || inputs[over]?.bytes !== outputs[output]!.bytes) return;
    takenBy.set(over, output);
    outputOf.set(output, over);
  });
  const can = ({ bytes, dies }: Donated, receiver: Receiver): boolean =>
    bytes === receiver.bytes && bytes > 0 && (dies === undefined || receiver.born === undefined || dies <= receiver.born);
  const settled = new Set(takenBy.keys());
  const place = (output: number, tried: Set<number>): boolean => {
    for (let input = 0; input < inputs.length; input++) {
      if (settled.has(input) || tried.has(input) || !can(inputs[input]!, outputs[output]!)) continue;
      tried.add(input);
      const holder = takenBy.get(input);
      if (holder !== undefined && !place(holder, tried)) continue;
      takenBy.set(input, output);
      outputOf.set(output, input);
      return true;
    }
    return false;
  };
  const bySize = outputs.map((_, output) => output).filter((output) => !outputOf.has(output));
  bySize.sort((a, b) => outputs[b]!.bytes - outputs[a]!.bytes || a - b);
  for (const output of bySize) place(output, new Set());
  return [...takenBy].map(([input, output]) => ({ input, output })).sort((a, b) => a.input - b.input);
}
