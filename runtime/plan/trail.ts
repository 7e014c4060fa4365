/**
 * What was changed, to be changed back: a column, a place in it, and the value before.
 *
 * Columns of numbers again, because a search writes millions of entries and takes nearly all of them back.
 * Depends on: nothing.
 */
export interface Trail {
  readonly mark: () => number;
  readonly note: (column: number, at: number, was: number) => void;
  /** Takes entries back, latest first, until the trail is as it was at the mark. */
  readonly undo: (mark: number, restore: (column: number, at: number, was: number) => void) => void;
}

const columnBits = 3;

/** For up to eight columns. */
export function newTrail(): Trail {
  let places = new Int32Array(4096);
  let values = new Float64Array(4096);
  let end = 0;
  return {
    mark: () => end,
    note(column, at, was) {
      if (end === places.length) {
        const wider = new Int32Array(end * 2);
        wider.set(places);
        places = wider;
        const longer = new Float64Array(end * 2);
        longer.set(values);
        values = longer;
      }
      places[end] = (at << columnBits) | column;
      values[end++] = was;
    },
    undo(mark, restore) {
      while (end > mark) {
        const entry = places[--end]!;
        restore(entry & ((1 << columnBits) - 1), entry >> columnBits, values[end]!);
      }
    },
  };
}
