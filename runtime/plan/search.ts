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
 * Depends on: problem, sections.
 */
import type { Buffer } from './problem.ts';
import { roundUp } from './problem.ts';
import { sections } from './sections.ts';

export type Outcome = 'found' | 'impossible' | 'unknown';

export interface Rule {
  /** Which valley is decided first, lowest first. */
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

export function searchWithin(buffers: readonly Buffer[], capacity: number, rule: Rule): Search {
  const n = buffers.length;
  const { count: m, first, last } = sections(buffers);
  const bytes = Float64Array.from(buffers, (b) => b.bytes);
  const alignment = Float64Array.from(buffers, (b) => b.alignment ?? 1);
  const priority = Float64Array.from(buffers, (b, i) => rule.buffer(b.bytes, last[i]! - first[i]! + 1));
  const { start: meetStart, list: meets } = meetings(first, last);
  const { start: memberStart, list: members } = membership(first, last, m);
  const twin = earlierTwins(buffers, first, last);
  const laterTwin = new Int32Array(n).fill(-1);
  for (let b = 0; b < n; b++) if (twin[b]! >= 0) laterTwin[twin[b]!] = b;

  const placed = new Uint8Array(n);
  const waits = new Uint8Array(n);
  const low = new Float64Array(n);
  const rest = new Float64Array(n);
  const floor = new Float64Array(m);
  const left = new Int32Array(m);
  const slack = new Float64Array(m);
  const crossing = new Int32Array(m);
  for (let b = 0; b < n; b++) for (let s = first[b]!; s <= last[b]!; s++) {
    left[s]!++;
    if (s < last[b]!) crossing[s]!++;
  }

  /** Sections whose members have to be sorted again. */
  const stale = new Uint8Array(m);

  // The trail: what was changed, to be changed back.
  const trailKind: number[] = [];
  const trailAt: number[] = [];
  const trailWas: number[] = [];
  const note = (kind: number, at: number, was: number): void => {
    trailKind.push(kind);
    trailAt.push(at);
    trailWas.push(was);
  };
  const columns = [low, rest, waits, floor, slack] as const;
  const LOW = 0, REST = 1, WAITS = 2, FLOOR = 3, SLACK = 4, PLACED = 5;
  const undo = (mark: number): void => {
    while (trailKind.length > mark) {
      const kind = trailKind.pop()!;
      const at = trailAt.pop()!;
      const was = trailWas.pop()!;
      if (kind !== PLACED) {
        columns[kind]![at] = was;
        if (kind === LOW) stale.fill(1, first[at]!, last[at]! + 1);
        continue;
      }
      placed[at] = 0;
      stale.fill(1, first[at]!, last[at]! + 1);
      for (let s = first[at]!; s <= last[at]!; s++) {
        left[s]!++;
        if (s < last[at]!) crossing[s]!++;
      }
    }
  };

  const queue: number[] = [];
  const queued = new Uint8Array(n);
  const dirty: number[] = [];
  const isDirty = new Uint8Array(m);
  const touch = (b: number): void => {
    for (let s = first[b]!; s <= last[b]!; s++) if (isDirty[s] === 0) {
      isDirty[s] = 1;
      dirty.push(s);
    }
  };
  const enqueue = (b: number): void => {
    if (queued[b] === 0) {
      queued[b] = 1;
      queue.push(b);
    }
  };
  const raise = (b: number, to: number): void => {
    note(LOW, b, low[b]!);
    low[b] = to;
    enqueue(b);
  };

  /** The lowest top on which a waiting buffer may come to rest. */
  const support = (b: number): number => {
    let least = Infinity;
    for (let i = meetStart[b]!; i < meetStart[b + 1]!; i++) {
      const other = meets[i]!;
      if (placed[other] === 0 && low[other]! + bytes[other]! < least) least = low[other]! + bytes[other]!;
    }
    return least === Infinity ? Infinity : roundUp(least, alignment[b]!);
  };

  const settle = (): boolean => {
    let fine = true;
    while (queue.length > 0) {
      const b = queue.pop()!;
      queued[b] = 0;
      touch(b);
      if (!fine) continue;
      for (let i = meetStart[b]!; i < meetStart[b + 1]!; i++) {
        const other = meets[i]!;
        if (waits[other] === 0 || placed[other] === 1) continue;
        const at = support(other);
        if (at > low[other]!) {
          if (at + bytes[other]! > capacity) {
            fine = false;
            break;
          }
          raise(other, at);
        }
      }
    }
    for (const s of dirty) {
      isDirty[s] = 0;
      if (fine && !stackFits(s)) fine = false;
    }
    dirty.length = 0;
    return fine;
  };

  /** Moves what is to come in a section to the front of its members, lowest first; they are nearly sorted from the last time. */
  const sort = (s: number): number => {
    const from = memberStart[s]!;
    const to = memberStart[s + 1]!;
    let end = from;
    for (let i = from; i < to; i++) {
      const b = members[i]!;
      if (placed[b] === 1) continue;
      const level = low[b]!;
      members[i] = members[end]!;
      let j = end++;
      for (; j > from && low[members[j - 1]!]! > level; j--) members[j] = members[j - 1]!;
      members[j] = b;
    }
    stale[s] = 0;
    return end;
  };

  /** Stacks what is to come in a section, lowest first, and sets its floor. */
  const stackFits = (s: number): boolean => {
    const from = memberStart[s]!;
    const end = sort(s);
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

  const place = (b: number): boolean => {
    note(PLACED, b, 0);
    placed[b] = 1;
    const top = low[b]! + bytes[b]!;
    for (let s = first[b]!; s <= last[b]!; s++) {
      left[s]!--;
      if (s < last[b]!) crossing[s]!--;
    }
    for (let i = meetStart[b]!; i < meetStart[b + 1]!; i++) {
      const other = meets[i]!;
      if (placed[other] === 1) continue;
      const at = alignment[other]! > 1 ? roundUp(top, alignment[other]!) : top;
      if (at <= rest[other]!) continue;
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
  const refuse = (first: number): boolean => {
    let fine = true;
    for (let b = first; b >= 0; b = laterTwin[b]!) {
      note(WAITS, b, 0);
      waits[b] = 1;
      const at = support(b);
      if (at + bytes[b]! > capacity) fine = false;
      else if (at > low[b]!) raise(b, at);
    }
    return settle() && fine;
  };

  /** The buffer to decide on: a valley's, or undefined when the sections are done. */
  const choose = (from: number, to: number): number | undefined => {
    let chosen: number | undefined;
    let bestKey = Infinity;
    for (let s = from; s <= to; ) {
      const level = floor[s]!;
      let end = s;
      while (end < to && floor[end + 1] === level) end++;
      if (level !== Infinity) for (let t = s; t <= end; t++) {
        if (stale[t] === 1) sort(t);
        let ways = 0;
        let best: number | undefined;
        for (let i = memberStart[t]!; i < memberStart[t]! + left[t]!; i++) {
          const b = members[i]!;
          if (low[b]! > level) break;
          if (first[b]! < s || last[b]! > end) {
            ways = 0;
            break;
          }
          const other = twin[b]!;
          if (other >= 0 && placed[other] === 0) continue;
          ways++;
          if (best === undefined || priority[b]! > priority[best]!) best = b;
        }
        if (ways === 0) continue;
        const key = rule.valley(ways, level, slack[t]!);
        if (key < bestKey) {
          bestKey = key;
          chosen = best;
        }
      }
      s = end + 1;
    }
    return chosen;
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
    frames.push({ kind: 'parts', mark: trailKind.length, buffer: -1, from, to, parts });
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
      frames.push({ kind: 'choice', mark: trailKind.length, buffer: b, from, to, parts: [] });
      if (place(b)) divide();
      else if (!fail()) return (over = 'impossible');
    }
    return 'unknown';
  };

  return { advance, offsets: () => [...low] };
}

/** For each buffer the others that are alive at the same time as it, in one list. */
function meetings(first: Int32Array, last: Int32Array): { start: Int32Array; list: Int32Array } {
  const n = first.length;
  const start = new Int32Array(n + 1);
  const list: number[] = [];
  for (let b = 0; b < n; b++) {
    for (let other = 0; other < n; other++) if (other !== b && first[b]! <= last[other]! && first[other]! <= last[b]!) list.push(other);
    start[b + 1] = list.length;
  }
  return { start, list: Int32Array.from(list) };
}

function membership(first: Int32Array, last: Int32Array, m: number): { start: Int32Array; list: Int32Array } {
  const start = new Int32Array(m + 1);
  for (let b = 0; b < first.length; b++) for (let s = first[b]!; s <= last[b]!; s++) start[s + 1]!++;
  for (let s = 0; s < m; s++) start[s + 1]! += start[s]!;
  const next = start.slice();
  const list = new Int32Array(start[m]!);
  for (let b = 0; b < first.length; b++) for (let s = first[b]!; s <= last[b]!; s++) list[next[s]!++] = b;
  return { start, list };
}

/** Of buffers that are alike, only the first not yet placed is tried: the one before it in the row of its like, or -1. */
function earlierTwins(buffers: readonly Buffer[], first: Int32Array, last: Int32Array): Int32Array {
  const latest = new Map<string, number>();
  return Int32Array.from(buffers, (b, i) => {
    const key = `${first[i]} ${last[i]} ${b.bytes} ${b.alignment ?? 1}`;
    const before = latest.get(key);
    latest.set(key, i);
    return before ?? -1;
  });
}
