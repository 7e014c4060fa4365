/** Planning over an arena and donated regions, against its own judge and its bound. Depends on: runtime/plan. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { leastArenaBytes } from '../../runtime/plan/region-bound.ts';
import { regionFaults } from '../../runtime/plan/region-faults.ts';
import type { Region, Value } from '../../runtime/plan/regions.ts';
import { betterRegions, planRegions } from '../../runtime/plan/regions.ts';
import { splitArena } from '../../runtime/plan/split.ts';

const arena: Region = { id: 'arena', kind: 'arena', bytes: 0 };
const steps = 12;

interface Drawn {
  readonly values: readonly Value[];
  readonly regions: readonly Region[];
}

/** Donated arguments with their own value first, some taken over by an output at the end, and temporaries. */
const someProgram: fc.Arbitrary<Drawn> = fc
  .record({
    donated: fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 2000 }), dies: fc.integer({ min: 1, max: 6 }), output: fc.boolean() }), {
      maxLength: 4,
    }),
    temporaries: fc.array(
      fc.record({
        bytes: fc.integer({ min: 0, max: 1500 }),
        born: fc.nat(steps - 1),
        life: fc.integer({ min: 1, max: 6 }),
        arenaOnly: fc.boolean(),
      }),
      { maxLength: 16 },
    ),
  })
  .map(({ donated, temporaries }) => ({
    regions: [arena, ...donated.map(({ bytes }, id): Region => ({ id, kind: 'donated', bytes }))],
    values: [
      ...donated.flatMap(({ bytes, dies, output }, region): Value[] => [
        { bytes, born: 0, dies, fixed: { region, offset: 0 } },
        ...(output ? [{ bytes, born: dies, dies: steps, fixed: { region, offset: 0 } }] : []),
      ]),
      ...temporaries.map(({ bytes, born, life, arenaOnly }): Value => ({
        bytes,
        born,
        dies: born + life,
        ...(arenaOnly && { regions: ['arena'] }),
      })),
    ],
  }));

describe('planRegions', () => {
  it('is sound and never below its bound, with and without time to search', () => {
    fc.assert(
      fc.property(someProgram, fc.constantFrom(1, 16, 256), fc.boolean(), ({ values, regions }, alignment, search) => {
        const atOnce = planRegions(values, regions, { alignment });
        let plan = atOnce;
        let left = search ? 30 : 0;
        if (left > 0)
          for (plan of betterRegions(values, regions, atOnce, { alignment })) {
            assert.ok(plan.arenaBytes <= atOnce.arenaBytes);
            if (--left === 0) break;
          }
        assert.deepEqual(regionFaults(values, regions, plan, alignment), []);
        assert.ok(plan.arenaBytes >= plan.lowerBoundBytes);
        assert.equal(plan.arenaBytes % alignment, 0);
      }),
      { numRuns: 400 },
    );
  });

  it('never needs a larger arena because something is donated', () => {
    fc.assert(
      fc.property(someProgram, ({ values, regions }) => {
        const loose = values.filter(({ fixed }) => fixed === undefined);
        assert.ok(leastArenaBytes(values, regions, 256) <= leastArenaBytes(loose, [arena], 256));
      }),
    );
  });

  it('puts a temporary where a dead argument was', () => {
    const x: Value = { name: 'x', bytes: 1024, born: 0, dies: 2, fixed: { region: 'x', offset: 0 } };
    const temporary: Value = { name: 't', bytes: 512, born: 2, dies: 4 };
    const early: Value = { name: 'early', bytes: 512, born: 1, dies: 3 };
    const plan = planRegions([x, temporary, early], [arena, { id: 'x', kind: 'donated', bytes: 1024 }]);
    assert.deepEqual(plan.placements.get(temporary), { region: 'x', offset: 0 });
    assert.equal(plan.placements.get(early)!.region, 'arena');
    assert.deepEqual([plan.arenaBytes, plan.lowerBoundBytes], [512, 512]);
  });

  it('keeps an output that takes over a donated buffer at its start, and everything else out of its way', () => {
    const w: Value = { bytes: 1000, born: 0, dies: 3, fixed: { region: 0, offset: 0 } };
    const next: Value = { bytes: 1000, born: 3, dies: 6, fixed: { region: 0, offset: 0 } };
    const temporary: Value = { bytes: 1000, born: 2, dies: 4 };
    const values = [w, next, temporary];
    const regions: readonly Region[] = [arena, { id: 0, kind: 'donated', bytes: 1000 }];
    const plan = planRegions(values, regions);
    assert.deepEqual(regionFaults(values, regions, plan, 256), []);
    assert.deepEqual(plan.placements.get(next), { region: 0, offset: 0 });
    assert.equal(plan.arenaBytes, 1024);
  });

  it('gives the large region to the value that fits nowhere else', () => {
    const small: Value = { bytes: 256, born: 0, dies: 2 };
    const large: Value = { bytes: 1024, born: 0, dies: 2 };
    const plan = planRegions([small, large], [arena, { id: 'l', kind: 'donated', bytes: 1024 }, { id: 's', kind: 'donated', bytes: 256 }]);
    assert.equal(plan.arenaBytes, 0);
  });
});

describe('regionFaults', () => {
  const x: Value = { bytes: 100, born: 0, dies: 2, fixed: { region: 'x', offset: 0 } };
  const t: Value = { bytes: 64, born: 1, dies: 3, regions: ['arena'] };
  const regions: readonly Region[] = [arena, { id: 'x', kind: 'donated', bytes: 100 }];
  const cases: readonly (readonly [string, readonly (readonly [Value, string, number])[], readonly string[]])[] = [
    [
      'a sound plan has none',
      [
        [x, 'x', 0],
        [t, 'arena', 0],
      ],
      [],
    ],
    ['a value without a place', [[x, 'x', 0]], ['nowhere']],
    [
      'a region that is not there',
      [
        [x, 'x', 0],
        [t, 'y', 0],
      ],
      ['nowhere'],
    ],
    [
      'a pinned value that was moved',
      [
        [x, 'arena', 0],
        [t, 'arena', 128],
      ],
      ['moved'],
    ],
    [
      'a region that is not allowed, and an overlap in it',
      [
        [x, 'x', 0],
        [t, 'x', 0],
      ],
      ['forbidden', 'region'],
    ],
    [
      'beyond the arena',
      [
        [x, 'x', 0],
        [t, 'arena', 256],
      ],
      ['region'],
    ],
  ];
  for (const [name, places, kinds] of cases)
    it(name, () => {
      const placements = new Map(places.map(([value, region, offset]) => [value, { region, offset }]));
      assert.deepEqual(
        regionFaults([x, t], regions, { placements, arenaBytes: 192 }, 64).map(({ kind }) => kind),
        kinds,
      );
    });
});

describe('splitArena', () => {
  const values: readonly Value[] = [
    { bytes: 512, born: 0, dies: 4 },
    { bytes: 512, born: 1, dies: 4 },
    { bytes: 256, born: 2, dies: 4 },
  ];
  it('uses one hole when that is enough', () => {
    const split = splitArena(values, [
      { id: 'a', bytes: 4096 },
      { id: 'b', bytes: 512 },
    ]);
    assert.deepEqual(split!.pieces, [{ id: 'a', bytes: 1280 }]);
  });
  it('lays the values over several holes when none is large enough', () => {
    const holes = [
      { id: 'a', bytes: 768 },
      { id: 'b', bytes: 512 },
      { id: 'c', bytes: 256 },
    ];
    const split = splitArena(values, holes)!;
    assert.deepEqual(
      split.pieces.map(({ id }) => id),
      ['a', 'b'],
    );
    const regions = holes.map(({ id, bytes }): Region => ({ id, kind: 'donated', bytes }));
    assert.deepEqual(regionFaults(values, regions, { placements: split.placements, arenaBytes: 0 }, 256), []);
  });
  it('says when a value fits into no hole', () => {
    assert.equal(
      splitArena(values, [
        { id: 'a', bytes: 500 },
        { id: 'b', bytes: 500 },
        { id: 'c', bytes: 500 },
      ]),
      undefined,
    );
  });
});
