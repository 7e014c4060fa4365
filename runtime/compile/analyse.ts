/**
 * What an executable's layout costs, for people: bytes by kind, by line, by donation.
 *
 *     peak = arguments + outputs - aliased outputs + temporaries      (as XLA counts; here measured and planned agree)
 *
 * Depends on: core, layout, copies, control, executable.
 */
import { printAval } from '../core/aval.ts';
import { leastShare } from '../core/donation.ts';
import type { Variable } from '../core/program.ts';
import type { Place } from '../core/source.ts';
import type { Analysis, DonationOutcome, OutputPlan, Recomputed, StoredValue } from './executable.ts';
import type { Bodies } from './control.ts';
import { copiesInside, copiesOf, madeBy, type Written } from './copies.ts';
import type { Layout } from './layout.ts';
import { roundedBytes } from './storage.ts';

export interface AnalyseInput {
  readonly layout: Layout;
  readonly inputs: readonly Variable[];
  readonly donated: readonly boolean[];
  readonly outputs: readonly OutputPlan[];
  readonly outputVariables: readonly Variable[];
  readonly paths: readonly string[];
  readonly argnums: readonly number[];
  /** Planned peak for any donation choice. */
  readonly peakWith: (donated: readonly boolean[]) => number;
  readonly argumentCount: number;
  readonly recomputed: readonly Recomputed[];
  readonly bodies: Bodies;
  readonly written: Written;
}

/** The arena counts whole from the call's start to its end, so the planned peak is this sum. */
export const peakOf = (layout: Layout, inputs: readonly Variable[]): number => argumentBytesOf(inputs) + layout.arenaBytes;

export const argumentBytesOf = (inputs: readonly Variable[]): number => inputs.reduce((sum, { aval }) => sum + roundedBytes(aval), 0);

export function analyse(input: AnalyseInput): Analysis {
  const { layout, inputs, donated, outputs } = input;
  const places = makePlaces();
  const argumentBytes = argumentBytesOf(inputs);
  const stored = outputs.filter((output) => output.kind === 'stored');
  const outputBytes = outputs.reduce((sum, output) => sum + (output.kind === 'stored' ? output.bytes : 0), 0);
  const aliasBytes = stored.reduce((sum, { at, bytes }) => sum + (at.region > 0 ? bytes : 0), 0);
  const peakBytes = peakOf(layout, inputs);
  const undonated = inputs.reduce((sum, { aval }, i) => sum + (donated[i] ? 0 : roundedBytes(aval)), 0);
  const lowerBoundBytes = Math.min(peakBytes, undonated + layout.aliveBytes);
  const packing = layout.arenaBytes - layout.arenaBoundBytes;
  const outside = copiesOf(layout, inputs, input.paths, input.written);
  const copies = [...outside, ...copiesInside(layout, input.bodies, input.written)].map((copy) => ({
    ...copy,
    place: places.of(copy.place),
  }));
  const copyBytes = Math.min(
    peakBytes - lowerBoundBytes - packing,
    outside.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  const outcomes = donationsOf(input);
  return {
    argumentBytes,
    outputBytes,
    aliasBytes,
    tempBytes: peakBytes - argumentBytes - outputBytes + aliasBytes,
    peakBytes,
    lowerBoundBytes,
    orderLowerBoundBytes: layout.orderLowerBoundBytes,
    gap: { packing, outputs: Math.max(0, peakBytes - lowerBoundBytes - packing - copyBytes), copies: Math.max(0, copyBytes) },
    copies,
    donated: outcomes,
    get whatIf() {
      return whatIfOf(input);
    },
    values: valuesOf(input, places),
    recomputed: input.recomputed.map((one) => ({ ...one, place: places.of(one.place) })),
    steps: layout.order.length,
    argumentPaths: input.paths,
    places: places.list,
  };
}

function makePlaces() {
  const list: (Place | undefined)[] = [undefined];
  const numbers = new Map<Place, number>();
  const of = (place: Place | undefined): number => {
    if (place === undefined) return 0;
    const known = numbers.get(place);
    if (known !== undefined) return known;
    numbers.set(place, list.length);
    list.push(place);
    return list.length - 1;
  };
  return { list, of };
}

function donationsOf({
  layout,
  inputs,
  donated,
  outputVariables,
  paths,
  peakWith,
  argumentCount,
}: AnalyseInput): readonly DonationOutcome[] {
  const now = peakWith(donated);
  return inputs.slice(0, argumentCount).flatMap((variable, input): DonationOutcome[] => {
    if (!donated[input]) return [];
    const bytes = roundedBytes(variable.aval);
    const path = paths[input] ?? `${input}`;
    const pair = layout.stored.pairs.find((one) => one.input === input);
    const forwarded = outputVariables.indexOf(variable);
    if (pair !== undefined || forwarded >= 0)
      return [{ input, path, bytes, outcome: 'aliased', reason: null, output: pair?.output ?? forwarded }];
    const without = peakWith(donated.map((one, i) => one && i !== input));
    if (without > now)
      return [{ input, path, bytes, outcome: 'freedEarly', reason: 'no output has its bytes; its space is reused for other values' }];
    return [{ input, path, bytes, outcome: 'unusable', reason: unusable(variable, outputVariables) }];
  });
}

function unusable(variable: Variable, outputs: readonly Variable[]): string {
  const bytes = roundedBytes(variable.aval);
  const same = outputs.filter(({ aval }) => roundedBytes(aval) === bytes);
  if (same.length > 0)
    return `${printAval(same[0]!.aval)} is made before ${printAval(variable.aval)} is last read, or has another donated buffer`;
  const nearest = outputs.toSorted((a, b) => Math.abs(roundedBytes(a.aval) - bytes) - Math.abs(roundedBytes(b.aval) - bytes))[0];
  return nearest === undefined
    ? 'the program has no outputs'
    : `no output has its ${bytes} bytes; the nearest is ${printAval(nearest.aval)} with ${roundedBytes(nearest.aval)}`;
}

/** Nothing donated, what is donated now, each argument on its own added to or taken from that, everything, and the fewest that are worth it. */
function whatIfOf({ layout, inputs, donated, argnums, argumentCount, peakWith }: AnalyseInput): Analysis['whatIf'] {
  const all = [...new Set(argnums)];
  // An arena in pieces costs more than the same program's in one; no donation choice would spare that.
  const cut = Math.max(0, peakOf(layout, inputs) - peakWith(donated));
  const planned = new Map<string, number>();
  const peakFor = (choice: readonly number[]): number => {
    const key = choice.toSorted((a, b) => a - b).join();
    const peakBytes = planned.get(key) ?? peakWith(donated.map((_, leaf) => leaf < argumentCount && choice.includes(argnums[leaf]!)));
    planned.set(key, peakBytes);
    return peakBytes;
  };
  const donatedNow = all.filter((argnum) => argnums.some((one, leaf) => one === argnum && donated[leaf] === true));
  const lowest = peakFor(all);
  const lowEnough = lowest + leastShare * (peakFor(donatedNow) - lowest);
  const without = (kept: readonly number[], argnum: number): readonly number[] => {
    const rest = kept.filter((one) => one !== argnum);
    return peakFor(rest) <= lowEnough ? rest : kept;
  };
  const fewest = lowest < peakFor(donatedNow) ? all.reduceRight(without, all) : donatedNow;
  const choices = [
    [],
    donatedNow,
    ...all.map((argnum) => (donatedNow.includes(argnum) ? donatedNow.filter((one) => one !== argnum) : [...donatedNow, argnum])),
    all,
    fewest,
  ].map((choice) => choice.toSorted((a, b) => a - b));
  const seen = new Set<string>();
  return choices.flatMap((donateArgnums) => {
    if (seen.has(donateArgnums.join())) return [];
    seen.add(donateArgnums.join());
    return [{ donateArgnums, peakBytes: peakFor(donateArgnums) + cut }];
  });
}

function valuesOf(
  { layout, inputs, donated, outputVariables, argumentCount }: AnalyseInput,
  places: ReturnType<typeof makePlaces>,
): readonly StoredValue[] {
  const values: StoredValue[] = inputs.map((variable, i) => ({
    place: 0,
    bytes: roundedBytes(variable.aval),
    shape: variable.aval.shape,
    dtype: variable.aval.dtype,
    born: 0,
    dies: donated[i] && i < argumentCount ? layout.stored.storageOf(variable).dies : layout.order.length,
    what: 'argument',
    region: 1 + i,
    offset: 0,
  }));
  const indexOf = new Map<Variable, number>(inputs.map((variable, i) => [variable, i]));
  const outputRoots = new Set(outputVariables.map(layout.stored.rootOf));
  layout.order.forEach((node, step) =>
    node.results.forEach((variable, result) => {
      const storage = layout.stored.storageOf(variable);
      const before = storage.values[storage.values.indexOf(variable) - 1];
      const isOutput = outputRoots.has(variable);
      const at = layout.locationOf(variable);
      const made = madeBy(node, result);
      indexOf.set(variable, values.length);
      values.push({
        place: places.of(made.place),
        bytes: storage.bytes,
        shape: variable.aval.shape,
        dtype: variable.aval.dtype,
        born: step,
        dies: isOutput ? layout.order.length : Math.max(step, layout.stored.lastRead.get(variable) ?? step) + 1,
        what: isOutput ? 'output' : 'temp',
        ...(made.role ? { role: made.role } : {}),
        ...(before === undefined ? {} : { reuses: indexOf.get(before)! }),
        region: at.region,
        offset: at.offset,
      });
    }),
  );
  return values;
}
