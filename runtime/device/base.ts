/**
 * Handles on arrays, calls, and donation, the same on every device.
 *
 * A call takes its arena before anything changes, so running out of memory leaves all arguments alive. When it is
 * submitted, donated handles are dead; outputs are cut out of the arena and of donated buffers, and the rest is free.
 *
 *     before   | arena: tmp | out0 | tmp | out1 |     donated: | x |
 *     after    |    free    | out0 | free| out1 |              | out2 |
 *
 * Depends on: core, compile, allocator, arena, backend, memory-events, run-events, shortage.
 */
import { knownBytes, printAval, type KnownAval } from '../core/aval.ts';
import { deviceLost, halfUnavailable, outOfMemory } from '../core/errors.ts';
import type { Place } from '../core/source.ts';
import type { Executable, Location, Role } from '../compile/executable.ts';
import { NoRoom, type Allocation, type Allocator, type AllocatorOptions, makeAllocator } from './allocator.ts';
import { makeArenas, type Part } from './arena.ts';
import { shifted, type Backend, type Resolve, type Spot } from './backend.ts';
import type { Buffer, Dead, Device, FreedBy, RunOptions, TypedArray } from './device.ts';
import { makeDoubts } from './doubts.ts';
import { makeEventWriter, nextId } from './memory-events.ts';
import { makeRunWriter } from './run-events.ts';
import { shortage } from './shortage.ts';
import { arrayOf, filled, viewOf } from './typed-arrays.ts';

const roleIn = ({ role }: { readonly role?: Role | undefined }) => (role === undefined ? {} : { role });

interface Handle extends Buffer {
  dead: Dead | undefined;
}

export interface DeviceSettings {
  readonly allocator: Omit<AllocatorOptions, 'limit'> & { readonly limit?: number };
  /** Asks for a garbage collection; absent where that can't be asked for. */
  readonly collect?: () => void;
}

/** From here on a collection is asked for whenever bytes in use have doubled. */
const leastBytesToCollect = 64 * 1024 * 1024;

export function makeDevice(backend: Backend, settings: DeviceSettings): Device {
  const events = makeEventWriter();
  const live = new Map<number, Handle>();
  let lostBecause: string | undefined;
  let collectAt = leastBytesToCollect;
  const reservations = new Map<number, number>();
  const doubts = makeDoubts({
    verdict: backend.verdict,
    failed(slab, bytes) {
      const known = allocator.stats().bytesReserved - 1;
      const error = outOfMemory({ ...shortage(bytes, memory()), largestHole: 0 });
      const gone = [...live.values()].filter((handle) => doubts.touches(handle, slab));
      allocator.abandon(slab);
      for (const handle of gone) {
        letGo(handle);
        handle.dead = { how: 'destroy', place: undefined, to: undefined, because: error };
        events.write({ kind: 'free', id: handle.id, how: 'destroy' });
      }
      return { error, limit: known };
    },
  });
  const allocator: Allocator = makeAllocator(
    {
      ...backend.backing,
      create(bytes) {
        const slab = backend.backing.create(bytes);
        const id = nextId();
        reservations.set(slab, id);
        doubts.add(slab, bytes);
        events.write({ kind: 'reserve', id, bytes, layer: 'tidemark', place: undefined });
        return slab;
      },
      destroy(slab) {
        backend.backing.destroy(slab);
        const id = reservations.get(slab);
        reservations.delete(slab);
        if (id !== undefined) events.write({ kind: 'unreserve', id });
      },
    },
    {
      ...settings.allocator,
      // Known only when the adapter is.
      get limit() {
        return Math.min(doubts.knownLimit(), settings.allocator.limit ?? backend.defaultLimit);
      },
    },
  );
  const arenaOf = makeArenas(allocator);
  // Told when the adapter is known, before the first thing that happens in memory where that can be.
  const announceDevice = (): void =>
    events.write({ kind: 'device', device: backend.kind, adapter: backend.adapter, software: backend.software, layer: 'tidemark' });
  announceDevice();
  void backend.opened?.then(announceDevice, () => undefined);
  void backend.lost.then((reason) => {
    lostBecause = reason;
    for (const handle of live.values()) handle.dead = { how: 'lost', place: undefined, to: undefined };
    live.clear();
    events.write({ kind: 'mark', name: 'lost', text: reason });
  });

  let failed: unknown;
  backend.opened?.catch((fault: unknown) => (failed = fault));
  const usable = (): void => {
    if (failed !== undefined) throw failed;
    if (lostBecause !== undefined) throw deviceLost(lostBecause);
  };
  /** Runs `take`; out of room, once more after a collection; then with the words for people. */
  const roomFor = <T>(take: () => T): T => {
    const inUse = allocator.stats().bytesInUse;
    if (inUse >= collectAt) {
      settings.collect?.();
      collectAt = Math.max(leastBytesToCollect, 2 * inUse);
    }
    try {
      return take();
    } catch (fault) {
      if (!(fault instanceof NoRoom)) throw fault;
      settings.collect?.();
      try {
        return take();
      } catch (again) {
        throw again instanceof NoRoom ? outOfMemory(shortage(again.request, memory())) : again;
      }
    }
  };
  const memory = () => ({
    allocator,
    live: live.values(),
    largestBuffer: backend.backing.maxSlabBytes,
    synchronous: settings.collect !== undefined,
  });
  const handleOn = (allocation: Allocation, aval: KnownAval, place: Place | undefined, role?: Role): Handle => {
    const { slab, offset, bytes } = allocation;
    const handle: Handle = {
      id: nextId(),
      bytes,
      aval,
      place,
      dead: undefined,
      address: { slab, offset },
      allocation,
      ...roleIn({ role }),
    };
    live.set(handle.id, handle);
    return handle;
  };
  const announce = ({ id, bytes, aval, place, allocation, role }: Handle): void => {
    if (!events.listening()) return;
    const slab = bytes === 0 ? undefined : reservations.get(allocation.slab);
    const { shape, dtype } = aval;
    const piece = slab === undefined ? {} : { slab, offset: allocation.offset };
    events.write({ kind: 'allocate', id, bytes, place, layer: 'tidemark', what: 'array', shape, dtype, ...roleIn({ role }), ...piece });
  };
  const own = (buffer: Buffer): Handle => {
    const handle = live.get(buffer.id);
    if (handle === undefined && buffer.dead?.because !== undefined) throw buffer.dead.because;
    if (handle === undefined) throw new Error(`internal: runtime/device: ${printAval(buffer.aval)} is dead or belongs to another device`);
    return handle;
  };
  const letGo = (handle: Handle): void => {
    live.delete(handle.id);
    handle.allocation.holders--;
    if (handle.allocation.holders === 0) allocator.free(handle.allocation);
  };

  const put = (data: TypedArray | number, aval: KnownAval, place: Place | undefined): Buffer => {
    usable();
    if (aval.dtype === 'float16' && !backend.target.float16) throw halfUnavailable(printAval(aval), place);
    const bytes = knownBytes(aval);
    const allocation = roomFor(() => allocator.allocate(bytes));
    if (bytes > 0) backend.write(allocation, typeof data === 'number' ? filled(data, aval) : viewOf(data, aval));
    const handle = handleOn(allocation, aval, place);
    announce(handle);
    return handle;
  };

  const run = (given: Executable, buffers: readonly Buffer[], place: Place | undefined, options: RunOptions = {}): Buffer[] => {
    usable();
    const handles = buffers.map(own);
    const donated = handles.map((_, i) => given.donated[i] === true);
    const consumed = new Set(options.consumed ?? []);
    const { executable, parts: arena } = roomFor(() => arenaOf(given));
    const giveBack = (spots: readonly Allocation[]): void => {
      for (const { allocation } of arena) allocator.free(allocation);
      spots.forEach((spot, i) => {
        if (spot !== handles[i]!.allocation) allocator.free(spot);
      });
    };
    const spots = privateSpots(handles, donated, giveBack);
    options.beforeSubmit?.();
    const regionAt = ({ region, offset }: Pick<Location, 'region' | 'offset'>): Spot => {
      if (region > 0) {
        const { slab, offset: base } = spots[region - 1]!;
        return { slab, offset: base + offset };
      }
      const segment = arena.findLast(({ from }) => from <= offset) ?? arena[0]!;
      return { slab: segment.allocation.slab, offset: segment.allocation.offset + offset - segment.from };
    };
    const resolve: Resolve = (location, loops) =>
      regionAt({ region: location.region, offset: location.strides === undefined ? location.offset : shifted(location, loops) });
    try {
      backend.execute(executable, resolve);
    } catch (fault) {
      giveBack(spots);
      throw fault;
    }
    return settle({ executable, handles, donated, consumed, arena, spots, place });
  };
  /** A donated buffer that another handle still holds is not written over: the call gets a copy. */
  const privateSpots = (
    handles: readonly Handle[],
    donated: readonly boolean[],
    giveBack: (spots: readonly Allocation[]) => void,
  ): readonly Allocation[] => {
    const spots: Allocation[] = [];
    try {
      handles.forEach((handle, i) => {
        const shared = donated[i] && handle.allocation.holders > 1;
        spots.push(shared ? roomFor(() => allocator.allocate(handle.bytes)) : handle.allocation);
      });
    } catch (fault) {
      giveBack(spots);
      throw fault;
    }
    handles.forEach(({ allocation, bytes }, i) => {
      if (spots[i] !== allocation && bytes > 0) backend.copy(allocation, spots[i]!, bytes);
    });
    return spots;
  };

  interface Call {
    readonly executable: Executable;
    readonly handles: readonly Handle[];
    readonly donated: readonly boolean[];
    readonly consumed: ReadonlySet<number>;
    readonly arena: readonly Part[];
    readonly spots: readonly Allocation[];
    readonly place: Place | undefined;
  }
  const settle = ({ executable, handles, donated, consumed, arena, spots, place }: Call): Buffer[] => {
    const slabs = [...arena.map(({ allocation }) => allocation.slab), ...spots.map(({ slab }) => slab)];
    announceRun(executable, place);
    const dead: Dead = { how: 'donate', place, to: executable.name };
    const forwarded = new Set(executable.outputs.flatMap((output) => (output.kind === 'forwarded' ? [output.input] : [])));
    const made = new Map<number, Handle>();
    const take = (region: number, from: number, allocation: Allocation): void => {
      const end = from + allocation.bytes;
      const inside = executable.outputs.flatMap((output, i) =>
        output.kind === 'stored' && output.at.region === region && output.bytes > 0 && output.at.offset >= from && output.at.offset < end
          ? [{ i, output }]
          : [],
      );
      const pieces = allocator.carve(
        allocation,
        inside.map(({ output }) => ({ offset: output.at.offset - from, bytes: output.bytes })),
      );
      inside.forEach(({ i, output }, k) => made.set(i, handleOn(pieces[k]!, output.aval, place, output.role)));
    };
    const outcomes = new Map(executable.analysis.donated.map((outcome) => [outcome.input, outcome]));
    handles.forEach((handle, input) => {
      if (!donated[input] && !consumed.has(input)) return;
      const outcome = outcomes.get(input);
      events.write({
        kind: 'donate',
        id: handle.id,
        place,
        path: outcome?.path ?? String(input),
        outcome: outcome?.outcome ?? 'freedEarly',
        ...(outcome?.reason ? { reason: outcome.reason } : {}),
      });
    });
    executable.outputs.forEach((output, i) => {
      if (output.kind === 'stored' && output.bytes === 0)
        made.set(i, handleOn({ slab: 0, offset: 0, bytes: 0, holders: 1 }, output.aval, place, output.role));
      if (output.kind !== 'forwarded') return;
      const { allocation } = handles[output.input]!;
      allocation.holders++;
      made.set(i, handleOn(allocation, output.aval, place, handles[output.input]!.role));
    });
    handles.forEach((handle, input) => {
      if (!donated[input] && !consumed.has(input)) return;
      const spot = spots[input]!;
      live.delete(handle.id);
      handle.dead = dead;
      handle.allocation.holders--;
      if (forwarded.has(input)) return;
      if (!donated[input]) {
        if (handle.allocation.holders === 0) allocator.free(handle.allocation);
        return;
      }
      take(1 + input, 0, spot);
    });
    for (const { from, allocation } of arena) take(0, from, allocation);
    const outputs = executable.outputs.map((_, i) => made.get(i)!);
    doubts.inherit(outputs, handles, slabs);
    announceOutputs(executable, outputs, handles, donated, consumed);
    return outputs;
  };
  const announceRun = makeRunWriter(events);
  /** Donated handles end, outputs begin: as a reuse where the bytes are the same ones. */
  const announceOutputs = (
    executable: Executable,
    outputs: readonly Handle[],
    handles: readonly Handle[],
    donated: readonly boolean[],
    consumed: ReadonlySet<number>,
  ): void => {
    if (!events.listening()) return;
    const reused = new Set<number>();
    const taken = outputs.map((_, i) => {
      const output = executable.outputs[i]!;
      const from =
        output.kind === 'forwarded' ? (donated[output.input] || consumed.has(output.input) ? output.input : undefined) : output.alias;
      if (from === undefined || reused.has(from) || handles[from]!.bytes !== outputs[i]!.bytes) return undefined;
      reused.add(from);
      return from;
    });
    handles.forEach((handle, input) => {
      if ((donated[input] || consumed.has(input)) && !reused.has(input)) events.write({ kind: 'free', id: handle.id, how: 'program' });
    });
    outputs.forEach((handle, i) => {
      const from = taken[i];
      if (from === undefined) announce(handle);
      else
        events.write({
          kind: 'reuse',
          from: handles[from]!.id,
          to: handle.id,
          place: handle.place,
          ...roleIn(handle),
          shape: handle.aval.shape,
          dtype: handle.aval.dtype,
        });
    });
  };

  const read = async (buffer: Buffer): Promise<TypedArray> => {
    usable();
    const handle = own(buffer);
    const { allocation, aval } = handle;
    const bytes = knownBytes(aval);
    if (bytes === 0) return arrayOf(new ArrayBuffer(0), aval);
    return arrayOf(await doubts.settled(handle, backend.read(allocation, bytes)), aval);
  };
  const readSync = backend.readSync;
  return {
    kind: backend.kind,
    get adapter() {
      return backend.adapter;
    },
    get software() {
      return backend.software;
    },
    target: backend.target,
    allocator,
    put,
    run,
    read,
    ...(readSync === undefined
      ? {}
      : {
          readSync(buffer: Buffer): TypedArray {
            usable();
            const { allocation, aval } = own(buffer);
            const bytes = knownBytes(aval);
            return arrayOf(bytes === 0 ? new ArrayBuffer(0) : readSync(allocation, bytes), aval);
          },
        }),
    free(buffer: Buffer, how: FreedBy, place?: Place) {
      const handle = live.get(buffer.id);
      if (handle === undefined) return;
      letGo(handle);
      handle.dead = { how, place, to: undefined };
      events.write({ kind: 'free', id: handle.id, how });
    },
    live: () => [...live.values()],
    ...(backend.opened === undefined ? {} : { opened: backend.opened }),
    async idle() {
      await backend.idle();
      await doubts.allSettled();
    },
    lost: backend.lost,
    dispatches: backend.dispatches,
    destroy: backend.destroy,
  };
}
