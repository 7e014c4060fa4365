/**
 * From a `.tidemark` file to what the timeline draws: one pass over its lines, nothing kept but numbers.
 *
 * A compiled call is a spike: what its program holds at its highest step rises and falls at one moment.
 * Depends on: events, messages.
 */
import { siteOf } from '../../runtime/events/by-site.ts';
import type { Event } from '../../runtime/events/event.ts';
import { createLedger, type Allocation, type Change, type Program } from '../../runtime/events/ledger.ts';
import { readEvent } from '../../runtime/events/ndjson.ts';
import { programShape, type ProgramShape, type ProgramValue } from '../../runtime/events/program.ts';
import type { ProfileReport } from '../../language-server/protocol.ts';
import { nowhere, type Arena, type Recording, type Site, type Slab } from './messages.ts';

export interface ReadProfile {
  readonly report: ProfileReport;
  readonly recording: Recording;
  readonly arenas: readonly Arena[];
}

/** Reads the lines of a profile file; throws one sentence when it is none. */
export async function readProfile(lines: AsyncIterable<string> | Iterable<string>): Promise<ReadProfile> {
  let report: ProfileReport | undefined;
  const recorder = createRecorder();
  for await (const line of lines) {
    if (report === undefined) report = reportOf(line);
    else {
      const event = readEvent(line);
      if (event !== undefined) recorder.take(event);
    }
  }
  if (report === undefined) throw new Error('the file is empty: a profile starts with its report on the first line');
  return { report, ...recorder.result() };
}

function reportOf(line: string): ProfileReport {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error('the first line is not a report: this is no profile that `tidemark profile --format tidemark` wrote');
  }
  if (typeof value !== 'object' || value === null || !('version' in value) || !('peakBytes' in value)) {
    throw new Error('the first line is not a report: this is no profile that `tidemark profile --format tidemark` wrote');
  }
  if (value.version !== 1) throw new Error(`the profile is of version ${String(value.version)}; this Tidemark reads version 1`);
  return value as unknown as ProfileReport;
}

export interface Recorder {
  readonly take: (event: Event) => void;
  readonly result: () => Pick<ReadProfile, 'recording' | 'arenas'>;
}

export function createRecorder(): Recorder {
  const ledger = createLedger();
  const sites = interned<Site>(({ file, line }) => `${line}:${file}`);
  const labels = interned<string>((label) => label);
  const siteOfPlace = new Map<number, number>();
  const blockOf = new Map<number, number>();
  const spikes = new Map<number, Spike>();
  const arenas: Arena[] = [];
  const steps = { at: growing(), site: growing(), delta: growing(), reserved: growing() };
  const blocks = {
    born: growing(),
    died: growing(),
    bytes: growing(),
    site: growing(),
    label: growing(),
    slab: growing(),
    offset: growing(),
  };
  const slabs: { bytes: number; born: number; died: number }[] = [];
  const slabOf = new Map<number, number>();
  let last = 0;

  const placeSite = (place: number): number => {
    let site = siteOfPlace.get(place);
    if (site === undefined) {
      const { file, line } = siteOf(ledger.places, place);
      site = sites.index({ file, line });
      siteOfPlace.set(place, site);
    }
    return site;
  };
  const step = (at: number, site: number, delta: number, reserved: number): number => {
    // Clocks of several threads may disagree a little; the axis only goes forward.
    last = Math.max(last, at);
    steps.at.push(last);
    steps.site.push(site);
    steps.delta.push(delta);
    steps.reserved.push(reserved);
    return steps.at.length - 1;
  };
  const block = (born: number, bytes: number, site: number, label: string, piece?: Pick<Allocation, 'slab' | 'offset'>): number => {
    blocks.slab.push(piece?.slab === undefined ? nowhere : (slabOf.get(piece.slab) ?? nowhere));
    blocks.offset.push(piece?.offset ?? 0);
    blocks.born.push(born);
    blocks.died.push(never);
    blocks.bytes.push(bytes);
    blocks.site.push(site);
    blocks.label.push(labels.index(label));
    return blocks.born.length - 1;
  };
  const enter = (allocation: Allocation, born: number): void => {
    const { id, bytes, place, shape, dtype, what } = allocation;
    blockOf.set(id, block(born, bytes, placeSite(place), labelOf(shape, dtype, what), allocation));
  };
  const leave = (id: number, died: number): void => {
    const index = blockOf.get(id);
    if (index !== undefined) blocks.died.set(index, died);
    blockOf.delete(id);
  };

  /** What a program's highest step holds, by site: computed once for all its calls. */
  const spikeOf = ({ program, profile }: Program, during: number): Spike => {
    let spike = spikes.get(program);
    if (spike === undefined) {
      spike = createSpike(
        programShape(profile),
        during,
        (value) => placeSite(value.place),
        sites.index({ file: 'lost by packing', line: 0 }),
      );
      spikes.set(program, spike);
    }
    return spike;
  };

  const take = (change: Change): void => {
    switch (change.kind) {
      case 'born':
        return enter(change.allocation, step(change.at, placeSite(change.allocation.place), change.allocation.bytes, change.reserved));
      case 'died':
        return leave(change.allocation.id, step(change.at, placeSite(change.allocation.place), -change.allocation.bytes, change.reserved));
      case 'moved': {
        const { from, to } = change;
        const died = step(change.at, placeSite(from.place), -from.bytes, change.reserved);
        leave(from.id, died);
        return enter(to, step(change.at, placeSite(to.place), to.bytes, change.reserved));
      }
      case 'ran': {
        const spike = spikeOf(change.program, change.duringBytes);
        const first = steps.at.length;
        for (const { site, bytes } of spike.bySite) step(change.at, site, bytes, change.reserved);
        for (const { value, site } of spike.values) {
          const index = block(
            first + spike.bySite.length - 1,
            value.bytes,
            site,
            `${labelOf(value.shape, value.dtype, value.what)} in ${change.program.name}`,
          );
          blocks.died.set(index, first + spike.bySite.length);
        }
        for (const { site, bytes } of spike.bySite) step(change.at + (change.ms ?? 0), site, -bytes, change.reserved);
        return;
      }
      case 'reserved':
        step(change.at, 0, 0, change.reserved);
        return;
      case 'noted':
        if (change.event.kind === 'program') arenas.push(arenaOf(change.event, placeSite));
    }
  };

  sites.index({ file: '', line: 0 });
  return {
    take(event) {
      const change = ledger.take(event);
      if (change === undefined) return;
      take(change);
      // Only slabs of which pieces are told can be drawn: others are one buffer each.
      if (event.kind === 'reserve' && event.layer === 'tidemark')
        slabOf.set(event.id, slabs.push({ bytes: event.bytes, born: steps.at.length - 1, died: never }) - 1);
      const ended = event.kind === 'unreserve' ? slabOf.get(event.id) : undefined;
      if (ended !== undefined) slabs[ended]!.died = steps.at.length - 1;
    },
    result: () => ({
      recording: {
        sites: sites.all,
        labels: labels.all,
        at: steps.at.as(Float64Array),
        site: steps.site.as(Uint32Array),
        delta: steps.delta.as(Float64Array),
        reserved: steps.reserved.as(Float64Array),
        born: blocks.born.as(Uint32Array),
        died: blocks.died.as(Uint32Array),
        bytes: blocks.bytes.as(Float64Array),
        blockSite: blocks.site.as(Uint32Array),
        label: blocks.label.as(Uint32Array),
        slab: blocks.slab.as(Uint32Array),
        offset: blocks.offset.as(Float64Array),
        slabs: slabs satisfies readonly Slab[],
      },
      arenas,
    }),
  };
}

const never = 0xffffffff;

interface Spike {
  readonly bySite: readonly { readonly site: number; readonly bytes: number }[];
  readonly values: readonly { readonly value: ProgramValue; readonly site: number }[];
}

function createSpike({ aliveAtPeak }: ProgramShape, during: number, siteOfValue: (value: ProgramValue) => number, lost: number): Spike {
  const values = aliveAtPeak.map((value) => ({ value, site: siteOfValue(value) }));
  const bytes = new Map<number, number>();
  for (const { value, site } of values) bytes.set(site, (bytes.get(site) ?? 0) + value.bytes);
  const held = values.reduce((sum, { value }) => sum + value.bytes, 0);
  if (during > held) bytes.set(lost, during - held);
  return { bySite: [...bytes].map(([site, sum]) => ({ site, bytes: sum })), values };
}

function arenaOf({ name, profile }: Extract<Event, { kind: 'program' }>, placeSite: (place: number) => number): Arena {
  const placed = profile.values.filter(({ offset }) => offset !== undefined);
  const regions: number[] = [];
  for (const { region = 0, offset = 0, bytes } of placed) regions[region] = Math.max(regions[region] ?? 0, offset + bytes);
  return {
    name,
    steps: profile.steps,
    regions: Array.from(regions, (bytes) => bytes ?? 0),
    values: placed.map(({ region = 0, offset = 0, bytes, born, dies, place, shape, dtype, what, reuses }) => ({
      region,
      offset,
      bytes,
      born,
      dies,
      site: placeSite(place),
      label: labelOf(shape, dtype, what),
      reuses: reuses !== undefined,
    })),
  };
}

function labelOf(shape: readonly number[] | undefined, dtype: string | undefined, what: string): string {
  const short = dtype
    ?.replace(/^float/, 'f')
    .replace(/^uint/, 'u')
    .replace(/^int/, 'i');
  const form = shape === undefined ? '' : `${short ?? ''}[${shape.join(',')}]`;
  return form === '' ? what : what === 'array' ? form : `${form} ${what}`;
}

interface Interned<T> {
  readonly all: readonly T[];
  readonly index: (value: T) => number;
}

function interned<T>(key: (value: T) => string): Interned<T> {
  const all: T[] = [];
  const indices = new Map<string, number>();
  return {
    all,
    index(value) {
      const name = key(value);
      let index = indices.get(name);
      if (index === undefined) {
        index = all.push(value) - 1;
        indices.set(name, index);
      }
      return index;
    },
  };
}

interface Growing {
  readonly length: number;
  push(value: number): void;
  set(index: number, value: number): void;
  as<T extends Float64Array | Uint32Array>(kind: { new (length: number): T }): T;
}

/** A list of numbers that doubles its room: a plain array of a million numbers costs three times as much. */
function growing(): Growing {
  let room = new Float64Array(1024);
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(value) {
      if (length === room.length) {
        const larger = new Float64Array(room.length * 2);
        larger.set(room);
        room = larger;
      }
      room[length] = value;
      length += 1;
    },
    set(index, value) {
      room[index] = value;
    },
    as(kind) {
      const copy = new kind(length);
      copy.set(room.subarray(0, length));
      return copy;
    },
  };
}
