/**
 * The allocator by property: whatever is asked for and given back, pieces never overlap and everything adds up.
 *
 * Depends on: runtime/device/allocator.
 */
import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import {
  makeAllocator,
  NoRoom,
  roundUp,
  type Allocation,
  type Allocator,
  type AllocatorOptions,
} from '../../../runtime/device/allocator.ts';

interface Machine {
  readonly allocator: Allocator;
  readonly slabs: Map<number, number>;
}

function machine(options: Partial<AllocatorOptions> = {}, maxSlabBytes = 2 ** 30): Machine {
  const slabs = new Map<number, number>();
  let ids = 0;
  const allocator = makeAllocator(
    {
      maxSlabBytes,
      create(bytes) {
        slabs.set(++ids, bytes);
        return ids;
      },
      destroy(slab) {
        assert.ok(slabs.delete(slab), 'a slab is destroyed once');
      },
    },
    { kind: 'bfc', limit: 2 ** 30, preallocateBytes: 0, ...options },
  );
  return { allocator, slabs };
}

function assertSound({ allocator, slabs }: Machine, live: readonly Allocation[]): void {
  const real = live.filter(({ bytes }) => bytes > 0).toSorted((a, b) => a.slab - b.slab || a.offset - b.offset);
  real.forEach((one, i) => {
    assert.equal(one.offset % 256, 0);
    assert.ok(one.offset + one.bytes <= slabs.get(one.slab)!, 'inside its slab');
    const next = real[i + 1];
    if (next?.slab === one.slab) assert.ok(one.offset + one.bytes <= next.offset, 'no two overlap');
  });
  const stats = allocator.stats();
  assert.equal(
    stats.bytesInUse,
    real.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  assert.equal(
    stats.bytesReserved,
    [...slabs.values()].reduce((sum, bytes) => sum + bytes, 0),
  );
  assert.ok(stats.bytesInUse <= stats.bytesReserved && stats.bytesReserved <= stats.bytesLimit);
  assert.ok(stats.peakBytesInUse >= stats.bytesInUse && stats.fragmentation >= 0 && stats.fragmentation <= 1);
}

type Act =
  | { readonly kind: 'take'; readonly bytes: number }
  | { readonly kind: 'free'; readonly which: number }
  | { readonly kind: 'carve'; readonly which: number; readonly cuts: readonly number[] }
  | { readonly kind: 'divided'; readonly bytes: number; readonly cuts: readonly number[] };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('take' as const), bytes: fc.oneof(fc.nat(3000), fc.nat(2_000_000)) }),
  fc.record({ kind: fc.constant('free' as const), which: fc.nat(1000) }),
  fc.record({ kind: fc.constant('carve' as const), which: fc.nat(1000), cuts: fc.array(fc.nat(7), { maxLength: 3 }) }),
  fc.record({
    kind: fc.constant('divided' as const),
    bytes: fc.integer({ min: 1024, max: 400_000 }),
    cuts: fc.array(fc.nat(200_000), { maxLength: 4 }),
  }),
);

/** Every act on a machine; asserts after each. */
function perform(on: Machine, acts: readonly Act[]): readonly Allocation[] {
  let live: Allocation[] = [];
  for (const one of acts) {
    if (one.kind === 'take') live.push(on.allocator.allocate(one.bytes));
    else if (one.kind === 'divided') {
      const bytes = roundUp(one.bytes);
      const cuts = [...new Set(one.cuts.map((cut) => roundUp(cut)).filter((cut) => cut > 0 && cut < bytes))].toSorted((a, b) => a - b);
      const pieces = on.allocator.allocateDivided(bytes, cuts);
      assert.equal(
        pieces.reduce((sum, { allocation }) => sum + allocation.bytes, 0),
        bytes,
      );
      pieces.forEach(({ from, allocation }, i) => assert.equal(from + allocation.bytes, pieces[i + 1]?.from ?? bytes));
      live.push(...pieces.map(({ allocation }) => allocation));
    } else if (live.length > 0) {
      const chosen = live[one.which % live.length]!;
      live = live.filter((other) => other !== chosen);
      if (one.kind === 'free') on.allocator.free(chosen);
      else {
        const units = chosen.bytes / 256;
        const starts = [...new Set(one.cuts)].filter((cut) => cut < units).toSorted((a, b) => a - b);
        const pieces = starts
          .map((start, i) => ({
            offset: start * 256,
            bytes: ((starts[i + 1] ?? units) - start) * (i % 2 === 0 ? 256 : 0) + (i % 2 === 0 ? 0 : 256),
          }))
          .filter(({ bytes }) => bytes > 0);
        const made = on.allocator.carve(chosen, pieces);
        pieces.forEach(({ offset, bytes }, i) => {
          assert.deepEqual([made[i]!.slab, made[i]!.offset, made[i]!.bytes], [chosen.slab, chosen.offset + offset, bytes]);
        });
        live.push(...made);
      }
    }
    assertSound(on, live);
  }
  return live;
}

describe('allocator', () => {
  it('keeps every piece apart and every byte counted', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => void perform(machine(), acts)),
      { numRuns: 200 },
    );
  });

  it('does so with a slab for everything at the start, and when it gives every buffer back at once', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => void perform(machine({ preallocateBytes: 2 ** 29 }), acts)),
      { numRuns: 60 },
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const on = machine({ kind: 'platform' });
        for (const one of perform(on, acts)) on.allocator.free(one);
        assert.equal(on.slabs.size, 0);
      }),
      { numRuns: 60 },
    );
  });

  it('is one whole hole again when everything was given back', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const on = machine();
        for (const one of perform(on, acts)) on.allocator.free(one);
        assert.equal(on.allocator.stats().bytesInUse, 0);
        on.allocator.trim();
        assert.equal(on.slabs.size, 0);
        assert.equal(on.allocator.stats().bytesReserved, 0);
      }),
      { numRuns: 100 },
    );
  });

  it('a request beyond the limit changes nothing', () => {
    const on = machine({ limit: 1024 * 1024 });
    const live = [on.allocator.allocate(300_000), on.allocator.allocate(300_000)];
    const before = on.allocator.stats();
    assert.throws(() => on.allocator.allocate(800_000), NoRoom);
    assert.throws(() => on.allocator.allocateDivided(800_000, [256, 512]), NoRoom);
    assert.deepEqual(on.allocator.stats(), before);
    assertSound(on, live);
    live.push(on.allocator.allocate(200_000));
    assertSound(on, live);
  });

  it('a request larger than any buffer fails, whatever the limit', () => {
    assert.throws(() => machine({}, 1024 * 1024).allocator.allocate(2 * 1024 * 1024), NoRoom);
  });

  it('an arena lies in several holes rather than in a new slab', () => {
    const on = machine();
    const pieces = Array.from({ length: 8 }, () => on.allocator.allocate(64 * 1024));
    const reserved = on.allocator.stats().bytesReserved;
    for (const piece of pieces.filter((_, i) => i % 2 === 0)) on.allocator.free(piece);
    const arena = on.allocator.allocateDivided(128 * 1024, [64 * 1024]);
    assert.equal(arena.length, 2);
    assert.equal(on.allocator.stats().bytesReserved, reserved);
  });

  it('takes the smallest hole that is large enough', () => {
    const on = machine({ preallocateBytes: 1024 * 1024 });
    const [a, , b] = [4096, 256, 1024, 256].map((bytes) => on.allocator.allocate(bytes));
    on.allocator.free(a!);
    on.allocator.free(b!);
    assert.equal(on.allocator.allocate(1000).offset, b!.offset);
  });
});
