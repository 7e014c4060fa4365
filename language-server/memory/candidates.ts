/**
 * Which arguments of a call could be donated, what that would save, and which donations are in vain.
 *
 * Savings are differences of planned peaks, so the promise is what a run measures. An argument counts only when an
 * output of its bytes is left after the donations that are there already are paired. Depends on: core (donation),
 * compiled.
 */
import { isKnownAval, knownBytes, printAval, type KnownAval } from '../../runtime/core/aval.ts';
import { pairDonations } from '../../runtime/core/donation.ts';
import { isLiteral } from '../../runtime/core/program.ts';
import type { Leaf, ShapedCall } from '../compiled/jitted.ts';
import { planOf, type Plan } from '../compiled/plan.ts';

export interface Saving {
  /** Arguments whose donation pays, ascending. */
  readonly positions: readonly number[];
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly savesBytes: number;
  /** Shapes of other arguments were assumed: no more than this. */
  readonly atMost: boolean;
}

/** The arguments among `dead` whose donation lowers the planned peak by `minBytes` or more each. */
export function saving(call: ShapedCall, dead: readonly number[], minBytes: number): Saving | undefined {
  const plan = planFor(call);
  if (plan === undefined || call.traced === undefined) return undefined;
  const now = call.leaves.map(({ donated }) => donated !== undefined);
  const taken = dead.filter((position) => leavesOutput(call, position, dead));
  const before = plan.peakWith(now);
  const peakOf = (positions: readonly number[]): number => plan.peakWith(withDonated(call.leaves, now, positions));
  let positions = taken;
  for (const position of taken.toSorted((a, b) => bytesOf(call, a) - bytesOf(call, b))) {
    const fewer = positions.filter((other) => other !== position);
    if (peakOf(fewer) - peakOf(positions) < minBytes) positions = fewer;
  }
  if (positions.length === 0) return undefined;
  const after = peakOf(positions);
  return before - after < minBytes
    ? undefined
    : { positions, bytesBefore: before, bytesAfter: after, savesBytes: before - after, atMost: call.assumed };
}

export const planFor = (call: ShapedCall): Plan | undefined =>
  call.traced === undefined ? undefined : planOf(call.traced.program, call.leaves);

export const withDonated = (leaves: readonly Leaf[], now: readonly boolean[], positions: readonly number[]): readonly boolean[] =>
  leaves.map(({ argument, array }, i) => now[i]! || (array !== undefined && positions.includes(argument)));

const rounded = (aval: KnownAval): number => Math.ceil(knownBytes(aval) / 256) * 256;

/** Bytes of an argument's arrays. */
export const bytesOf = (call: ShapedCall, position: number): number =>
  call.leaves.reduce(
    (sum, leaf, i) => (leaf.argument === position && leaf.array !== undefined ? sum + rounded(call.traced!.program.inputs[i]!.aval) : sum),
    0,
  );

/** Is an output left for the argument, when what is donated already has been served first? */
function leavesOutput(call: ShapedCall, position: number, dead: readonly number[]): boolean {
  const { program } = call.traced!;
  const outputs = program.outputs.flatMap((output) =>
    isLiteral(output) || program.inputs.includes(output) ? [] : [{ bytes: rounded(output.aval) }],
  );
  const inputs = (positions: readonly number[]): { bytes: number }[] =>
    call.leaves.flatMap((leaf, i) =>
      leaf.array !== undefined && (leaf.donated !== undefined || positions.includes(leaf.argument))
        ? [{ bytes: rounded(program.inputs[i]!.aval) }]
        : [],
    );
  const others = dead.filter((other) => other < position);
  const bytes = (list: readonly { bytes: number }[]): number =>
    pairDonations(list, outputs).reduce((sum, pair) => sum + list[pair.input]!.bytes, 0);
  return bytes(inputs([...others, position])) > bytes(inputs(others));
}

/** A donated array that no output takes over. */
export interface Vain {
  readonly position: number;
  readonly leaves: readonly { readonly path: string; readonly aval: KnownAval; readonly bytes: number; readonly why: string }[];
  readonly how: 'options' | 'mark';
  readonly bytes: number;
  /** The planned peak without this donation minus with it: what freeing it early saves. */
  readonly savesBytes: number | undefined;
}

export function vainDonations(call: ShapedCall): readonly Vain[] {
  const plan = planFor(call);
  if (plan === undefined || call.traced === undefined || call.assumed) return [];
  const { program } = call.traced;
  const now = call.leaves.map(({ donated }) => donated !== undefined);
  if (!now.includes(true)) return [];
  const outcomes = new Map(plan.analysis(now).donated.map((outcome) => [outcome.input, outcome]));
  const left = surplus(call);
  const positions = [...new Set(call.leaves.filter(({ donated }) => donated !== undefined).map(({ argument }) => argument))];
  return positions.flatMap((position) => {
    const leaves = call.leaves.flatMap((leaf, i) => {
      const outcome = outcomes.get(i);
      if (
        leaf.argument !== position ||
        leaf.donated === undefined ||
        outcome === undefined ||
        outcome.outcome === 'aliased' ||
        program.outputs.includes(program.inputs[i]!)
      )
        return [];
      const { aval } = program.inputs[i]!;
      // An output of these bytes that the plan gave to nobody is the plan's business, not a mistake of the author.
      const spare = left.get(rounded(aval)) ?? 0;
      if (spare === 0) return [];
      left.set(rounded(aval), spare - 1);
      return [{ path: leaf.path, aval, bytes: knownBytes(aval), why: whyNot(call, aval) }];
    });
    if (leaves.length === 0) return [];
    const without = call.leaves.map((leaf, i) => now[i]! && !(leaf.argument === position && leaves.some(({ path }) => path === leaf.path)));
    return [
      {
        position,
        leaves,
        how: call.leaves.find((leaf) => leaf.argument === position && leaf.donated !== undefined)!.donated!,
        bytes: leaves.reduce((sum, { bytes }) => sum + bytes, 0),
        savesBytes: plan.peakWith(without) - plan.peakWith(now),
      },
    ];
  });
}

/** Donations to a function that can't be traced, but yields a single number: no larger array finds an output. */
export function vainBesideScalar(call: ShapedCall): readonly Vain[] {
  const positions = [...new Set(call.leaves.filter(({ donated }) => donated !== undefined).map(({ argument }) => argument))];
  return positions.flatMap((position) => {
    const own = call.leaves.filter(({ argument, donated }) => argument === position && donated !== undefined);
    const leaves = own.flatMap(({ path, aval }) =>
      aval !== undefined && isKnownAval(aval) && rounded(aval) > rounded({ shape: [], dtype: 'float32' })
        ? [{ path, aval, bytes: knownBytes(aval), why: 'the only output is a single number' }]
        : [],
    );
    if (leaves.length === 0) return [];
    return [{ position, leaves, how: own[0]!.donated!, bytes: leaves.reduce((sum, { bytes }) => sum + bytes, 0), savesBytes: undefined }];
  });
}

/** By bytes: how many more arrays are donated than there are outputs. */
function surplus(call: ShapedCall): Map<number, number> {
  const { program } = call.traced!;
  const counts = new Map<number, number>();
  const add = (bytes: number, count: number): void => void counts.set(bytes, (counts.get(bytes) ?? 0) + count);
  call.leaves.forEach(({ donated }, i) => {
    if (donated !== undefined && !program.outputs.includes(program.inputs[i]!)) add(rounded(program.inputs[i]!.aval), 1);
  });
  for (const output of new Set(program.outputs)) if (!isLiteral(output) && !program.inputs.includes(output)) add(rounded(output.aval), -1);
  return new Map([...counts].map(([bytes, count]) => [bytes, Math.max(0, count)]));
}

/** The nearest output, and why it can't take these bytes. */
function whyNot(call: ShapedCall, aval: KnownAval): string {
  const { program } = call.traced!;
  const outputs = program.outputs.filter((output) => !isLiteral(output) && !program.inputs.includes(output)).map((output) => output.aval);
  const nearest = outputs.toSorted((a, b) => Math.abs(rounded(a) - rounded(aval)) - Math.abs(rounded(b) - rounded(aval)))[0];
  if (nearest === undefined) return 'the function returns no new array';
  const bytes = knownBytes(aval);
  const own = knownBytes(nearest);
  if (rounded(nearest) === rounded(aval))
    return `the only output of these bytes, ${printAval(nearest)}, has the buffer of another donated array`;
  return `the nearest output is ${printAval(nearest)}, ${own < bytes ? 'smaller' : 'larger'}`;
}
