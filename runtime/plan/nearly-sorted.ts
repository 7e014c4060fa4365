/**
 * Sorts a stretch of a list that is nearly sorted already: few runs are out of order since the last time, mostly raised
 * to one height. They are taken out, sorted, and merged with the rest, in linear time where insertion would be quadratic.
 *
 * Depends on: nothing.
 */
export type Sorter = (list: Int32Array, from: number, end: number, keys: Float64Array) => void;

/** A sorter for stretches of up to `most` entries; it keeps its room between calls. */
export function newSorter(most: number): Sorter {
  const inOrder = new Int32Array(most);
  const outOfOrder = new Int32Array(most);
  return (list, from, end, keys) => {
    let sorted = from + 1;
    while (sorted < end && keys[list[sorted - 1]!]! <= keys[list[sorted]!]!) sorted++;
    if (sorted >= end) return;
    let kept = 0;
    let taken = 0;
    let ceiling = Infinity;
    for (let i = end - 1; i >= from; i--) {
      const entry = list[i]!;
      if (keys[entry]! <= ceiling) {
        ceiling = keys[entry]!;
        inOrder[kept++] = entry;
      } else outOfOrder[taken++] = entry;
    }
    // Both lists run from high to low; the second nearly.
    for (let i = 1; i < taken; i++) {
      const entry = outOfOrder[i]!;
      const key = keys[entry]!;
      let j = i;
      for (; j > 0 && keys[outOfOrder[j - 1]!]! < key; j--) outOfOrder[j] = outOfOrder[j - 1]!;
      outOfOrder[j] = entry;
    }
    for (let at = from; kept > 0 || taken > 0; at++) {
      const lower = taken === 0 || (kept > 0 && keys[inOrder[kept - 1]!]! <= keys[outOfOrder[taken - 1]!]!);
      list[at] = lower ? inOrder[--kept]! : outOfOrder[--taken]!;
    }
  };
}
