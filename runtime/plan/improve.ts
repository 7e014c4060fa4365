/**
 * A better plan the longer it is asked, down to one that is proven best.
 *
 * One search may be lost in a bad start for ever, and another started differently be done in a moment; so searches are
 * many and short, each with its own rule and a little chance in its priorities, their lengths following Luby's row
 * (1 1 2 1 1 2 4 …), which comes within a constant of the best lengths whatever those are. Capacities are tried between
 * the bound and the best plan so far: half-way while that works, nearer to either when it does not.
 *
 * A generator: each step is a few milliseconds of work, there is no clock in it, and whoever drives it may do so in the
 * background. Depends on: problem, bound, plan, layout, search,
 * reorder.
 */
import { leastBytes } from './bound.ts';
import { layout } from './layout.ts';
import { takesRoom } from './plan.ts';
import type { Buffer, Deadline, Plan } from './problem.ts';
import { topOf } from './problem.ts';
import { reorder } from './reorder.ts';
import type { Rule } from './search.ts';
import { searchWithin } from './search.ts';

export interface Improvement {
  readonly plan: Plan;
  /** No plan is lower than this. */
  readonly lowerBoundBytes: number;
  readonly optimal: boolean;
}

export interface ImproveOptions {
  /** The bytes that are enough. Absent: as few as can be. */
  readonly capacity?: number;
  readonly seed?: number;
}

/** Above this many buffers the columns of who meets whom grow too large, and only orders are changed. */
export const mostBuffers = 3000;

/** Decisions in one step of the generator: fewer where each one touches more buffers, so that steps stay short. */
const sliceOf = (n: number): number => Math.max(10, Math.min(100, Math.round(30_000 / n)));
/** Decisions a search may waste beyond one for each buffer, in units of Luby's row. */
const patience = 150;
/** Above this many times the bound a plan is far off. */
const farOff = 1.05;
/** Where between bound and best plan the next capacity lies, by how often the one before failed. */
const fractions = [1 / 2, 3 / 4, 1 / 4, 0];

/** Ends when the plan is optimal, or within `capacity`; the last yielded value stands. */
export function* improve(buffers: readonly Buffer[], start: Plan, options: ImproveOptions = {}): Generator<Improvement, void> {
  const moving = buffers.map((_, i) => i).filter((i) => takesRoom(buffers[i]!));
  let lowerBoundBytes = leastBytes(buffers);
  let plan = start;
  const enough = (): boolean => plan.bytes <= Math.max(lowerBoundBytes, options.capacity ?? 0);
  const state = (): Improvement => ({ plan, lowerBoundBytes, optimal: plan.bytes <= lowerBoundBytes });
  yield state();
  if (enough()) return;
  const chance = random(options.seed ?? 1);
  if (moving.length > mostBuffers || buffers.some(({ fixed, gaps }) => fixed !== undefined || gaps !== undefined)) {
    for (plan of reorder(buffers, plan, chance)) {
      yield state();
      if (enough()) return;
    }
  }

  const columns = layout(moving.map((i) => buffers[i]!));
  const slice = sliceOf(columns.n);
  for (let attempt = 1, failures = 0; !enough(); attempt++) {
    // A plan that is far off is first brought near; then, as on most programs, the tightest-first rule may reach the bound.
    const opening = attempt <= 2;
    const far = plan.bytes > farOff * lowerBoundBytes;
    const fraction = opening ? (attempt === 1 && far ? 1 / 2 : 0) : fractions[failures % fractions.length]!;
    const capacity = Math.max(lowerBoundBytes, options.capacity ?? target(lowerBoundBytes, plan.bytes, fraction, columns.unit));
    const search = searchWithin(columns, capacity, opening ? tightestFirst : drawRule(chance));
    let outcome = search.advance(0);
    for (let left = columns.n + patience * luby(attempt); left > 0 && outcome === 'unknown'; left -= slice) {
      outcome = search.advance(Math.min(slice, left));
      yield state();
    }
    switch (outcome) {
      case 'found': {
        const placed = search.offsets();
        const offsets = new Array<number>(buffers.length).fill(0);
        moving.forEach((i, at) => (offsets[i] = placed[at]!));
        plan = { offsets, bytes: topOf(buffers, offsets) };
        failures = 0;
        break;
      }
      case 'impossible':
        lowerBoundBytes = Math.max(lowerBoundBytes, (Math.floor(capacity / columns.unit) + 1) * columns.unit);
        break;
      case 'unknown':
        if (!opening) failures++;
        break;
    }
    // A capacity that is proven impossible is no reason to go on.
    if (options.capacity !== undefined && options.capacity < lowerBoundBytes) break;
    yield state();
  }
  yield state();
}

/** Drives `improve` until the deadline. */
export function improved(buffers: readonly Buffer[], start: Plan, deadline: Deadline, options: ImproveOptions = {}): Improvement {
  let last: Improvement | undefined;
  for (const step of improve(buffers, start, options)) {
    last = step;
    if (deadline.now() >= deadline.until) break;
  }
  return last!;
}

const target = (least: number, best: number, fraction: number, unit: number): number =>
  Math.max(least, Math.min(best - unit, Math.floor((least + fraction * (best - least)) / unit) * unit));

/** 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 … */
function luby(i: number): number {
  let power = 1;
  while (power - 1 < i) power *= 2;
  return power - 1 === i ? power / 2 : luby(i - power / 2 + 1);
}

const valleys: readonly Rule['valley'][] = [
  (ways, level) => ways * 1e15 + level,
  (ways, _, slack) => ways * 1e15 + slack,
  (ways, level) => level * 1e3 + ways,
];

const priorities: readonly Rule['buffer'][] = [
  (bytes, width) => bytes * Math.sqrt(width),
  (bytes, width) => width * width * Math.sqrt(bytes),
  (bytes, width) => bytes * width,
];

const tightestFirst: Rule = { valley: valleys[1]!, buffer: priorities[2]! };

function drawRule(chance: () => number): Rule {
  const valley = valleys[Math.floor(chance() * valleys.length)]!;
  const priority = priorities[Math.floor(chance() * priorities.length)]!;
  return { valley, buffer: (bytes, width) => priority(bytes, width) * Math.exp((chance() - 0.5) * 0.8) };
}

/** A row of numbers from 0 to 1 that is the same every time. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 0x100000000;
  };
}
