/**
 * The profile file that pprof reads: who holds how many arrays and bytes, by stack.
 *
 * The same form as JAX's device memory profile: sample types `allocations/count` and `space/bytes`, labels `kind` and
 * `device`, and `role` where differentiation made it or it was computed again; for whatever set of arrays is handed in: alive now, at exit, or at the peak. Depends on: event, peak, pprof-format.
 */
import { Profile, StringTable } from 'pprof-format';
import type { Frame } from './event.ts';
import { bytesOf, placeOf } from './by-site.ts';
import type { Alive } from './peak.ts';

export interface PprofOptions {
  readonly places: ReadonlyMap<number, readonly Frame[]>;
  /** Label of all samples: `webgpu`, `cpu`. */
  readonly device: string;
  /** Said in the file's comment. */
  readonly comment: string;
  /** Nanoseconds of the epoch at which the profile was taken. */
  readonly timeNanos: bigint;
}

/** The profile, not yet compressed. */
export function pprof(alive: readonly Alive[], { places, device, comment, timeNanos }: PprofOptions): Uint8Array {
  const strings = new StringTable();
  const functions = new Map<string, { id: number; name: number; systemName: number; filename: number; startLine: number }>();
  const locations = new Map<string, { id: number; line: { functionId: number; line: number; column: number }[] }>();

  function functionOf(frame: Frame): number {
    const name = frame.function ?? '(module)';
    const key = `${name}\n${frame.file}`;
    let known = functions.get(key);
    if (known === undefined) {
      const text = strings.dedup(name);
      known = {
        id: functions.size + 1,
        name: text,
        systemName: text,
        filename: strings.dedup(frame.file),
        startLine: frame.functionLine ?? 0,
      };
      functions.set(key, known);
    }
    return known.id;
  }

  function locationOf(frame: Frame): number {
    const key = `${frame.line}:${frame.column}:${frame.function ?? ''}:${frame.file}`;
    let known = locations.get(key);
    if (known === undefined) {
      known = { id: locations.size + 1, line: [{ functionId: functionOf(frame), line: frame.line, column: frame.column }] };
      locations.set(key, known);
    }
    return known.id;
  }

  const sample = [...groups(alive).values()].map(({ place, kind, role, count, bytes }) => ({
    locationId: framesOf(places, place).map(locationOf),
    value: [count, bytes],
    label: [
      { key: strings.dedup('kind'), str: strings.dedup(kind) },
      { key: strings.dedup('device'), str: strings.dedup(device) },
      ...(role === undefined ? [] : [{ key: strings.dedup('role'), str: strings.dedup(role) }]),
    ],
  }));
  const type = (name: string, unit: string) => ({ type: strings.dedup(name), unit: strings.dedup(unit) });
  return new Profile({
    sampleType: [type('allocations', 'count'), type('space', 'bytes')],
    sample,
    location: [...locations.values()],
    function: [...functions.values()],
    timeNanos,
    comment: [strings.dedup(comment)],
    defaultSampleType: strings.dedup('space'),
    stringTable: strings,
  }).encode();
}

/** A stack without a frame is one frame that says so: a sample needs a location. */
function framesOf(places: PprofOptions['places'], place: number): readonly Frame[] {
  const frames = places.get(place) ?? [];
  return frames.length > 0 ? frames : [{ file: '(unknown)', line: 1, column: 1 }];
}

interface Group {
  readonly place: number;
  readonly kind: string;
  readonly role: string | undefined;
  readonly count: number;
  readonly bytes: number;
}

function groups(alive: readonly Alive[]): ReadonlyMap<string, Group> {
  const found = new Map<string, Group>();
  for (const one of alive) {
    const place = placeOf(one);
    const kind = one.kind === 'allocation' ? one.allocation.what : one.value.what === 'temp' ? 'temp' : 'array';
    const { role } = one.kind === 'allocation' ? one.allocation : one.value;
    const key = `${place} ${kind} ${role ?? ''}`;
    const known = found.get(key) ?? { place, kind, role, count: 0, bytes: 0 };
    found.set(key, { ...known, count: known.count + 1, bytes: known.bytes + bytesOf(one) });
  }
  return found;
}
