/**
 * The copies at the end of a body, in an order in which none writes over what another still has to read.
 *
 *     a -> b, b -> c       b -> c first
 *     a -> b, b -> a       one of them is put aside: a -> scratch, b -> a, scratch -> b
 *
 * Depends on: core, storage, executable.
 */
import type { KnownAval } from '../core/aval.ts';
import type { Variable } from '../core/program.ts';
import type { Location } from './executable.ts';
import { roundedBytes } from './storage.ts';

export interface Move {
  readonly variable: Variable;
  readonly aval: KnownAval;
  readonly from: Location;
  readonly to: Location;
}

/** `scratch`: bytes of region 0 that are in use; what is put aside comes after them. */
export function ordered(moves: readonly Move[], scratch: number): { readonly moves: readonly Move[]; readonly bytes: number } {
  const done: Move[] = [];
  let waiting = [...moves];
  let bytes = scratch;
  while (waiting.length > 0) {
    const free = waiting.find((move) => !waiting.some((other) => other !== move && other.from.region === move.to.region));
    if (free !== undefined) {
      done.push(free);
      waiting = waiting.filter((move) => move !== free);
      continue;
    }
    const [first, ...others] = waiting;
    const aside: Location = { region: 0, offset: bytes };
    bytes += roundedBytes(first!.aval);
    done.push({ ...first!, to: aside });
    waiting = [...others, { ...first!, from: aside }];
  }
  return { moves: done, bytes };
}
