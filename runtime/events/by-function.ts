/**
 * Per function: how often it was called, how high memory stood while it was on the stack, and where it stood before.
 *
 * A function is known by its file and where it begins. Every allocation raises the peak of all functions on its stack;
 * `enter` tells one call from the next, so that `enteredBytes` is what was in use when the call with the peak made its
 * first allocation, that allocation not counted. Without `enter` events a whole run of allocations under a function
 * counts as one call. Compiled functions carry their program's own figures. Depends on: ledger.
 */
import type { Frame, ProgramProfile } from './event.ts';
import type { Change, Fold } from './ledger.ts';

export interface FunctionTotals {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  readonly calls: number;
  readonly peakBytes: number;
  readonly enteredBytes: number;
  readonly compiled: { readonly traces: number; readonly profile: ProgramProfile } | undefined;
}

interface Counting {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  /** Calls as `count` events say, by their place: each thread counts for itself. Undefined until there is one. */
  counted: Map<number, number> | undefined;
  entered: number;
  runs: number;
  peakBytes: number;
  enteredAtPeak: number;
  /** In use at the first allocation of the call that is on now; undefined when the call has made none. */
  enteredNow: number | undefined;
  traces: number;
  profile: ProgramProfile | undefined;
}

export function byFunction(places: ReadonlyMap<number, readonly Frame[]>): Fold<readonly FunctionTotals[]> {
  const functions = new Map<string, Counting>();
  const ofPlace = new Map<number, readonly Counting[]>();

  function counting(file: string, name: string, line: number): Counting {
    const key = `${file}:${line}:${name}`;
    let known = functions.get(key);
    if (known === undefined) {
      known = {
        file,
        name,
        line,
        counted: undefined,
        entered: 0,
        runs: 0,
        peakBytes: 0,
        enteredAtPeak: 0,
        enteredNow: undefined,
        traces: 0,
        profile: undefined,
      };
      functions.set(key, known);
    }
    return known;
  }

  /** The user's functions on the stack of a place, innermost first, each once. */
  function onStack(place: number): readonly Counting[] {
    const known = ofPlace.get(place);
    if (known !== undefined) return known;
    const frames = (places.get(place) ?? []).filter((frame) => frame.library === undefined && named(frame.function));
    const found = [...new Set(frames.map((frame) => counting(frame.file, frame.function!, frame.functionLine ?? frame.line)))];
    ofPlace.set(place, found);
    return found;
  }

  const ofProgram = new Map<number, Counting>();

  function compiled(program: number, place: number, name: string, profile: ProgramProfile): Counting {
    let known = ofProgram.get(program);
    if (known === undefined) {
      const frame = compiledFrame(places, place, name, profile);
      // What stands where it was called is another function than the one that was traced.
      const inside = frame?.functionLine !== undefined && (frame.compiled === true || frame.function === name);
      known = counting(frame?.file ?? '(unknown)', inside ? frame.function! : name, frame?.functionLine ?? frame?.line ?? 1);
      ofProgram.set(program, known);
    }
    return known;
  }

  function reach(place: number, before: number, after: number): void {
    for (const one of onStack(place)) {
      one.enteredNow ??= before;
      if (after <= one.peakBytes) continue;
      one.peakBytes = after;
      one.enteredAtPeak = one.enteredNow;
    }
  }

  return {
    take(change: Change) {
      switch (change.kind) {
        case 'born':
          return reach(change.allocation.place, change.inUse - change.allocation.bytes, change.inUse);
        case 'moved':
          return reach(change.to.place, change.inUse, change.inUse);
        case 'ran': {
          const { program, name, place, profile } = change.program;
          const one = compiled(program, place, name, profile);
          one.runs += 1;
          one.profile = higher(one.profile, profile);
          const high = change.inUse + change.duringBytes;
          if (high > one.peakBytes) {
            one.peakBytes = high;
            one.enteredAtPeak = change.inUse;
          }
          return reach(change.place, change.inUse, high);
        }
        case 'noted': {
          const { event } = change;
          if (event.kind === 'program') {
            const one = compiled(event.program, event.place, event.name, event.profile);
            if (event.improves === undefined) one.traces += 1;
          }
          if (event.kind === 'enter') {
            const one = onStack(event.place)[0];
            if (one !== undefined) {
              one.entered += 1;
              one.enteredNow = undefined;
            }
          }
          if (event.kind === 'count') {
            const one = onStack(event.place)[0];
            if (one !== undefined) (one.counted ??= new Map()).set(event.place, event.calls);
          }
          return;
        }
        case 'died':
        case 'reserved':
          return;
      }
    },
    result: () =>
      [...functions.values()]
        .map((one) => ({
          file: one.file,
          name: one.name,
          line: one.line,
          calls:
            one.runs > 0
              ? one.runs
              : one.counted === undefined
                ? one.entered
                : [...one.counted.values()].reduce((sum, calls) => sum + calls, 0),
          peakBytes: one.peakBytes,
          enteredBytes: one.enteredAtPeak,
          compiled: one.profile === undefined ? undefined : { traces: one.traces, profile: one.profile },
        }))
        .toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line)),
  };
}

/**
 * The user's function that a program was traced from: the one of its name among those that its values were made in, else
 * the one that a compiler was given, else whatever stands where it was called.
 */
function compiledFrame(
  places: ReadonlyMap<number, readonly Frame[]>,
  place: number,
  name: string,
  profile: ProgramProfile,
): Frame | undefined {
  const frames = profile.values.flatMap((value) => (value.what === 'argument' ? [] : (places.get(value.place) ?? [])));
  const inside = frames.filter((frame) => frame.library === undefined && frame.functionLine !== undefined && named(frame.function));
  return (
    inside.find((frame) => frame.function === name || frame.function!.endsWith(`.${name}`)) ??
    inside.find((frame) => frame.compiled === true) ??
    places.get(place)?.find((one) => one.library === undefined)
  );
}

/** The trace with the highest peak is the one to show. */
const higher = (a: ProgramProfile | undefined, b: ProgramProfile): ProgramProfile => (a === undefined || b.peakBytes > a.peakBytes ? b : a);

const named = (name: string | undefined): boolean => name !== undefined && name !== '' && name !== '<anonymous>';
