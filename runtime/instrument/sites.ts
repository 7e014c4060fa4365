/**
 * Stacks of calls that announced themselves: the line is known without looking, and the callers mostly are too.
 *
 * Looking at a stack costs more than all else that is done for an allocation. Of a site that was looked at before, the
 * stack is the same when no function was entered since, if its own function is one that is counted. When only the function around it was entered, anew and anew, as a
 * helper in a loop is, the callers are taken to be those that were found many times in a row, and looked at again now and
 * then: so bytes and lines are exact always, and which caller of a helper it was is exact but in such a row.
 * Depends on: calls, stack.
 */
import type { Calls } from './calls.ts';
import type { Below, Stack, Stacks } from './stack.ts';

/** As often the same callers must have been found in a row, and as often they may be taken for the same then. */
const mostTrusted = 16;

interface Site {
  stack: Stack;
  /** Calls of all functions, and of the one around the site, when its stack was last known. */
  total: number;
  own: number;
  /** How often in a row the stack was found to be the same, and how often that was trusted since. */
  same: number;
  trusted: number;
}

/** The stack above `below`, which the program called. */
export function createSites(calls: Calls, stacks: Stacks): (below: Below) => Stack {
  const sites = new Map<number, Site>();

  function look(site: Site, below: Below): Stack {
    const stack = stacks.capture(below);
    site.same = stack === site.stack ? site.same + 1 : 0;
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
      sites.set(id, { stack, total, own: ownCalls(stack), same: 0, trusted: 0 });
      return stack;
    }
    const [innermost] = known.stack.frames;
    if (innermost === undefined || calls.isUncounted(innermost)) return look(known, below);
    if (known.total === total) return stacks.again(known.stack);
    const own = ownCalls(known.stack);
    const isHelper = total - known.total === own - known.own;
    let stack: Stack;
    if (isHelper && known.same >= mostTrusted && known.trusted < mostTrusted) {
      known.trusted += 1;
      stack = stacks.again(known.stack);
    } else stack = look(known, below);
    known.total = total;
    known.own = ownCalls(stack);
    return stack;
  };

  /** NaN, which equals nothing, where the site is not in a function that is counted. */
  function ownCalls({ functions: [own] }: Stack): number {
    return own === undefined ? Number.NaN : calls.countOf(own);
  }
}
