/**
 * Stacks of calls that announced themselves: the line is known without looking, and the callers mostly are too.
 *
 * Looking at a stack costs more than all else that is done for an allocation. Of a site that was looked at before, the
 * stack is the same when no function was entered since, if its own function is one that is counted. In a loop functions are
 * entered between two calls of a site, but as many every time, and as many of those on the stack: where that repeats itself
 * and the callers were the same many times in a row, they are taken for the same, and looked at again now and then. Whoever
 * else calls a helper was entered first, which changes the numbers. So bytes and lines are exact always, and which caller
 * of a helper it was is exact but within such a row. Depends on: calls, stack.
 */
import type { Calls } from './calls.ts';
import type { Below, Stack, Stacks } from './stack.ts';

/** So often the same callers must have been found in a row; then as often as they were, they are taken for the same. */
const leastSame = 16;
const mostTrusted = 256;

interface Site {
  stack: Stack;
  /** Calls of all functions, and of those on its stack, when its stack was last known. */
  total: number;
  own: number;
  /** How many of both there were between the two times before that. */
  totalBetween: number;
  ownBetween: number;
  /** How often in a row the stack was found to be the same, and how often that was trusted since. */
  same: number;
  trusted: number;
}

/** The stack above `below`, which the program called. */
export function createSites(calls: Calls, stacks: Stacks): (below: Below) => Stack {
  const sites = new Map<number, Site>();

  function look(site: Site, below: Below): Stack {
    const stack = stacks.capture(below);
    site.same = stack === site.stack ? site.same + 1 + site.trusted : 0;
    site.stack = stack;
    site.trusted = 0;
    return stack;
  }

  return function stackOf(below) {
    const id = calls.takeSite();
    if (id === undefined) return stacks.capture(below);
    const { total } = calls;
    const known = sites.get(id);
    if (known === undefined) {
      const stack = stacks.capture(below);
      sites.set(id, { stack, total, own: callsOn(stack), totalBetween: 0, ownBetween: 0, same: 0, trusted: 0 });
      return stack;
    }
    const [innermost] = known.stack.frames;
    if (innermost === undefined || calls.isUncounted(innermost)) return look(known, below);
    if (known.total === total) return stacks.again(known.stack);
    const own = callsOn(known.stack);
    const [totalBetween, ownBetween] = [total - known.total, own - known.own];
    const isRow = totalBetween === known.totalBetween && ownBetween === known.ownBetween;
    let stack: Stack;
    if (isRow && known.same >= leastSame && known.trusted < Math.min(known.same, mostTrusted)) {
      known.trusted += 1;
      stack = stacks.again(known.stack);
    } else stack = look(known, below);
    known.total = total;
    known.own = callsOn(stack);
    known.totalBetween = totalBetween;
    known.ownBetween = ownBetween;
    return stack;
  };

  /** NaN, which equals nothing, where the site is not in a function that is counted. */
  function callsOn({ functions }: Stack): number {
    if (functions[0] === undefined) return Number.NaN;
    let sum = 0;
    for (const one of functions) if (one !== undefined) sum += calls.countOf(one);
    return sum;
  }
}
