/**
 * Is there a plan within a capacity? An exhaustive search from the bottom up that can be taken up again at any time.
 *
 * Any plan can be pushed down until every buffer rests on the floor or on another buffer. So, in a section where nothing
 * that is still to come can lie lower (a valley), either one of the buffers that can rest there does, or none of them:
 * those then wait until something is put under them. Choosing the valley with the fewest ways keeps the tree narrow.
 *
 *     offset            |  c waits: it would rest on a, but something not yet placed is to come between
 *        ^    +---+     v
 *        |    | b |   . . .        bound of a section: what is to come, each no lower than it can lie,
 *        | +--+---+--+             stacked in that order, must end below the capacity
 *        | |    a    |  <- valley
 *
 * Buffers that no longer meet any other are solved apart, so a failure there is not blamed on choices elsewhere.
 * Depends on: problem, layout, nearly-sorted, trail.
 */
import type { Layout } from './layout.ts';
import { newSorter } from './nearly-sorted.ts';
import { roundUp } from './problem.ts';
import { newTrail } from './trail.ts';

export type Outcome = 'found' | 'impossible' | 'unknown';

export interface Rule {
  /** Which valley is decided first, lowest first; never falls with the number of ways. */
  readonly valley: (ways: number, level: number, slack: number) => number;
  /** Which buffer is tried first, highest first. */
  readonly buffer: (bytes: number, width: number) => number;
}

export interface Search {
  /** Goes on for so many decisions. */
  readonly advance: (decisions: number) => Outcome;
  readonly offsets: () => number[];
}

interface Frame {
  /** A choice that is still to be refused, or the start of parts that are solved apart. */
  readonly kind: 'choice' | 'parts';
  readonly mark: number;
  readonly buffer: number;
  readonly from: number;
  readonly to: number;
  /** Further parts, as pairs of first and last section. */
  readonly parts: [number, number][];
}

/** How often one buffer's bound is raised after one decision. */
const mostLifts = 4;

export function searchWithin(layout: Layout, capacity: number, rule: Rule): Search {
  const { n, m, first, last, bytes, alignment, meetStart, meets, memberStart, earlierTwin, laterTwin } = layout;
  const members = layout.members.slice();
  const priority = Float64Array.from(bytes, (size, b) => rule.buffer(size, last[b]! - first[b]! + 1));

  const placed = new Uint8Array(n);
  const waits = new Uint8Array(n);
  const low = new Float64Array(n);
  const rest = new Float64Array(n);
  const floor = new Float64Array(m);
  const left = new Int32Array(m);
  const slack = new Float64Array(m);
  const crossing = new Int32Array(m);
  for (let b = 0; b < n; b++)
    for (let s = first[b]!; s <= last[b]!; s++) {
      left[s]!++;
      if (s < last[b]!) crossing[s]!++;
    }

  /** Sections whose members have to be sorted again. */
  const stale = new Uint8Array(m);

  const { mark: trailEnd, note, undo: takeBack } = newTrail();
  const columns = [low, rest, waits, floor, slack] as const;
  const LOW = 0,
    REST = 1,
    WAITS = 2,
    FLOOR = 3,
    SLACK = 4,
    PLACED = 5;
  const restore = (column: number, at: number, was: number): void => {
    if (column !== PLACED) {
      columns[column]![at] = was;
      if (column === LOW) for (let s = first[at]!; s <= last[at]!; s++) stale[s] = 1;
      return;
    }
    placed[at] = 0;
    for (let s = first[at]!; s <= last[at]!; s++) {
      left[s]!++;
      stale[s] = 1;
      crossing[s]!++;
    }
    crossing[last[at]!]!--;
  };
  const undo = (mark: number): void => takeBack(mark, restore);

  const queue = new Int32Array(n);
  let queueEnd = 0;
  const queued = new Uint8Array(n);
  /** Where a queued buffer would have ended at the least, before it was raised or placed. */
  const ended = new Float64Array(n);
  const dirty = new Int32Array(m);
  let dirtyEnd = 0;
  const isDirty = new Uint8Array(m);
  const enqueue = (b: number): void => {
    if (queued[b] === 1) return;
    queued[b] = 1;
    ended[b] = low[b]! + bytes[b]!;
    queue[queueEnd++] = b;
    for (let s = first[b]!; s <= last[b]!; s++)
      if (isDirty[s] === 0) {
        isDirty[s] = 1;
        dirty[dirtyEnd++] = s;
      }
  };
  const raise = (b: number, to: number): void => {
    note(LOW, b, low[b]!);
    enqueue(b);
    low[b] = to;
  };

  /** The lowest top on which a waiting buffer may come to rest. */
  const support = (b: number): number => {
    let least = Infinity;
    for (let i = meetStart[b]!; i < meetStart[b + 1]!; i++) {
      const other = meets[i]!;
      if (placed[other] === 0 && low[other]! + bytes[other]! < least) least = low[other]! + bytes[other]!;
    }
    return alignment[b]! > 1 ? roundUp(least, alignment[b]!) : least;
  };

  let lastFailure = 0;
  let round = 0;
  const lifted = new Int32Array(n);
  const lifts = new Int32Array(n);
  const settle = (): boolean => {
    let fine = true;
    round++;
    while (queueEnd > 0) {
      const b = queue[--queueEnd]!;
      queued[b] = 0;
      if (!fine) continue;
      for (let i = meetStart[b]!; i < meetStart[b + 1]!; i++) {
        const other = meets[i]!;
        // One that could not have borne it before says nothing new.
        if (waits[other] === 0 || placed[other] === 1 || ended[b]! > low[other]!) continue;
        const at = support(other);
        if (at <= low[other]!) continue;
        if (at + bytes[other]! > capacity) {
          fine = false;
          break;
        }
        if (lifted[other] !== round) {
          lifted[other] = round;
          lifts[other] = 0;
        }
        // Two that wait for each other lift one another without end; the bound they lack is only weaker.
        if (++lifts[other]! > mostLifts) continue;
        raise(other, at);
      }
    }
    // Where the last failure was the next is likely.
    if (fine && isDirty[lastFailure] === 1 && !stackFits(lastFailure)) fine = false;
    for (let i = 0; i < dirtyEnd; i++) {
      const s = dirty[i]!;
      isDirty[s] = 0;
      if (fine && s !== lastFailure && !stackFits(s)) {
        fine = false;
        lastFailure = s;
      }
    }
    dirtyEnd = 0;
    return fine;
  };

  const sorter = newSorter(n);
  /** What is to come in a section stands first among its members; sorts it, lowest first. */
  const sort = (s: number): void => {
    stale[s] = 0;
    sorter(members, memberStart[s]!, memberStart[s]! + left[s]!, low);
  };

  /** Stacks what is to come in a section, lowest first, and sets its floor. */
  const stackFits = (s: number): boolean => {
    sort(s);
    const from = memberStart[s]!;
    const end = from + left[s]!;
    const lowest = end > from ? low[members[from]!]! : Infinity;
    let top = 0;
    for (let i = from; i < end; i++) {
      const b = members[i]!;
      if (low[b]! > top) top = low[b]!;
      top += bytes[b]!;
    }
    if (floor[s] !== lowest) {
      note(FLOOR, s, floor[s]!);
      floor[s] = lowest;
    }
    if (slack[s] !== capacity - top) {
      note(SLACK, s, slack[s]!);
      slack[s] = capacity - top;
    }
    return top <= capacity;
  };

  /** Moves a buffer behind what is to come: there it stays until it is taken back, whatever is sorted before it. */
  const retire = (s: number, b: number): void => {
    const end = memberStart[s]! + --left[s]!;
    let at = memberStart[s]!;
    while (members[at] !== b) at++;
    for (; at < end; at++) members[at] = members[at + 1]!;
    members[end] = b;
  };

  const place = (b: number): boolean => {
    note(PLACED, b, 0);
    placed[b] = 1;
    const top = low[b]! + bytes[b]!;
    for (let s = first[b]!; s <= last[b]!; s++) {
      retire(s, b);
      crossing[s]!--;
    }
    crossing[last[b]!]!++;
    for (let i = meetStart[b]!; i < meetStart[b + 1]!; i++) {
      const other = meets[i]!;
      if (placed[other] === 1 || top <= rest[other]!) continue;
      const at = alignment[other]! > 1 ? roundUp(top, alignment[other]!) : top;
      note(REST, other, rest[other]!);
      rest[other] = at;
      if (at < low[other]!) continue;
      if (waits[other] === 1) {
        note(WAITS, other, 1);
        waits[other] = 0;
      }
      if (at > low[other]!) raise(other, at);
    }
    enqueue(b);
    return settle();
  };

  /** Nor do its like rest here: the first of them would have. */
  const refuse = (firstOfLike: number): boolean => {
    let fine = true;
    for (let b = firstOfLike; b >= 0; b = laterTwin[b]!) {
      note(WAITS, b, waits[b]!);
      waits[b] = 1;
      const at = support(b);
      if (at + bytes[b]! > capacity) fine = false;
      else if (at > low[b]!) raise(b, at);
    }
    return settle() && fine;
  };

  /** The buffer to decide on: a valley's, or undefined when the sections are done. */
  const choose = (from: number, to: number): number | undefined => {
    let valley = -1;
    let bestKey = Infinity;
    for (let s = from; s <= to;) {
      const level = floor[s]!;
      let end = s;
      while (end < to && floor[end + 1] === level) end++;
      if (level !== Infinity)
        for (let t = s; t <= end; t++) {
          const key = waysAt(t, level, s, end, bestKey);
          if (key >= bestKey) continue;
          bestKey = key;
          valley = t;
        }
      s = end + 1;
    }
    return valley < 0 ? undefined : firstToTry(valley);
  };

  /** The rule's key of a section, or infinity when it is no valley or cannot be below `enough`. */
  const waysAt = (t: number, level: number, runStart: number, runEnd: number, enough: number): number => {
    if (stale[t] === 1) sort(t);
    let ways = 0;
    const end = memberStart[t]! + left[t]!;
    for (let i = memberStart[t]!; i < end; i++) {
      const b = members[i]!;
      if (low[b]! > level) break;
      if (first[b]! < runStart || last[b]! > runEnd) return Infinity;
      if (earlierTwin[b]! >= 0 && placed[earlierTwin[b]!] === 0) continue;
      // A key grows with the number of ways, so counting may stop.
      if ((++ways & 7) === 0 && rule.valley(ways, level, slack[t]!) >= enough) return Infinity;
    }
    return ways === 0 ? Infinity : rule.valley(ways, level, slack[t]!);
  };

  const firstToTry = (t: number): number => {
    let best = -1;
    const end = memberStart[t]! + left[t]!;
    for (let i = memberStart[t]!; i < end && low[members[i]!]! === floor[t]; i++) {
      const b = members[i]!;
      if (earlierTwin[b]! >= 0 && placed[earlierTwin[b]!] === 0) continue;
      if (best < 0 || priority[b]! > priority[best]!) best = b;
    }
    return best;
  };

  const frames: Frame[] = [];
  let from = 0;
  let to = m - 1;
  let begun = false;
  let over: Outcome = 'unknown';

  const begin = (): boolean => {
    for (let s = 0; s < m; s++) if (!stackFits(s)) return false;
    divide();
    return true;
  };

  /** Splits the sections at hand where no buffer to come crosses. */
  const divide = (): void => {
    const parts: [number, number][] = [];
    for (let s = from, a = from; s <= to; s++) {
      if (s < to && crossing[s]! > 0) continue;
      if (left[s]! > 0) parts.push([a, s]);
      a = s + 1;
    }
    if (parts.length < 2) {
      if (parts.length === 1) [from, to] = parts[0]!;
      return;
    }
    parts.sort((p, q) => p[1] - p[0] - (q[1] - q[0]));
    const [a, b] = parts.pop()!;
    frames.push({ kind: 'parts', mark: trailEnd(), buffer: -1, from, to, parts });
    [from, to] = [a, b];
  };

  /** The sections at hand are done: takes up the next part, if there is one. */
  const nextPart = (): boolean => {
    for (;;) {
      let at = frames.length - 1;
      while (at >= 0 && frames[at]!.kind !== 'parts') at--;
      if (at < 0) return false;
      // What was decided in the part that is done stands, whatever becomes of the others.
      frames.length = at + 1;
      const part = frames[at]!.parts.shift();
      if (part !== undefined) {
        [from, to] = part;
        return true;
      }
      frames.pop();
    }
  };

  const fail = (): boolean => {
    for (let frame = frames.pop(); frame !== undefined; frame = frames.pop()) {
      undo(frame.mark);
      if (frame.kind === 'parts') continue;
      ({ from, to } = frame);
      if (refuse(frame.buffer)) return true;
    }
    return false;
  };

  const advance = (decisions: number): Outcome => {
    if (over !== 'unknown') return over;
    if (!begun) {
      begun = true;
      if (!begin()) return (over = 'impossible');
    }
    for (let i = 0; i < decisions; i++) {
      const b = choose(from, to);
      if (b === undefined) {
        if (!nextPart()) return (over = 'found');
        continue;
      }
      frames.push({ kind: 'choice', mark: trailEnd(), buffer: b, from, to, parts: [] });
      if (place(b)) divide();
      else if (!fail()) return (over = 'impossible');
    }
    return 'unknown';
  };

  return { advance, offsets: () => [...low] };
}
