/**
 * The memory of one call: one piece, or several when no hole takes it whole.
 *
 * Asked for in this order: a hole or a new slab for all of it; holes for its parts, where it may be cut; then the program
 * laid out anew over the holes that there are, with what may still be reserved as one of them. A loop that runs at the
 * limit meets the same holes again and again, so the last layouts of a program are kept.
 * Depends on: compile, allocator.
 */
import type { Executable } from '../compile/executable.ts';
import { NoRoom, type Allocation, type Allocator } from './allocator.ts';

/** A part of the arena: from this offset on it lies there. */
export interface Part {
  readonly from: number;
  readonly allocation: Allocation;
}

export interface Arena {
  /** The program as it was laid out for these parts. */
  readonly executable: Executable;
  readonly parts: readonly Part[];
}

/** Layouts over holes that are kept for a program. */
const mostKept = 4;

export function makeArenas(allocator: Allocator): (executable: Executable) => Arena {
  const kept = new WeakMap<Executable, Executable[]>();
  const inParts = (executable: Executable): Arena => {
    const parts: Part[] = [];
    let from = 0;
    for (const allocation of allocator.allocateAll(executable.pieces!)) {
      parts.push({ from, allocation });
      from += allocation.bytes;
    }
    return { executable, parts };
  };
  const divided = (executable: Executable): Arena | undefined => {
    const known = kept.get(executable) ?? [];
    kept.set(executable, known);
    for (const one of known) {
      const arena = unlessNoRoom(() => inParts(one));
      if (arena !== undefined) return arena;
    }
    const made = executable.inPieces(allocator.holes(executable.arenaBytes));
    if (made === undefined) return undefined;
    known.unshift(made);
    known.length = Math.min(known.length, mostKept);
    return unlessNoRoom(() => inParts(made));
  };
  return (executable) => {
    const whole = unlessNoRoom(() => allocator.allocateDivided(executable.arenaBytes, executable.cuts));
    if (whole !== undefined) return { executable, parts: whole };
    const arena = divided(executable);
    if (arena === undefined) throw new NoRoom(executable.arenaBytes);
    return arena;
  };
}

function unlessNoRoom<T>(take: () => T): T | undefined {
  try {
    return take();
  } catch (fault) {
    if (fault instanceof NoRoom) return undefined;
    throw fault;
  }
}
