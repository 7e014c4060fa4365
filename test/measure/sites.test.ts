/**
 * Calls that announce themselves: what is added to them, and when their stacks are looked at.
 *
 * Depends on: instrument, support.
 */
import assert from 'node:assert/strict';
import type { Calls } from '../../runtime/instrument/calls.ts';
import { rewrite } from '../../runtime/instrument/rewrite.ts';
import { createSites } from '../../runtime/instrument/sites.ts';
import type { Stack } from '../../runtime/instrument/stack.ts';
import { measured, programs } from './support.ts';

describe('sites', () => {
  it('are calls of one argument that make something on the GPU; others are left as they are', () => {
    const announced = (call: string): string => {
      const { source } = rewrite(`${call};`, 'a.js', 0, 7)!;
      const text = source.slice(source.indexOf('eval("0"));') + 'eval("0"));'.length, -1);
      return text.replaceAll('(globalThis.$tidemarkAt??((_,a)=>a))', '$at').replaceAll('globalThis.$tidemarkCount?.', '$count');
    };
    const cases: readonly (readonly [string, string])[] = [
      ['d.createBuffer({ size, usage })', 'd.createBuffer($at(7,{ size, usage }))'],
      ['d.createBuffer(big ? a : b,)', 'd.createBuffer($at(7,big ? a : b,))'],
      ['d?.createTexture(of((a) => a))', 'd?.createTexture($at(7,of((a) => ($count(0),a))))'],
      ['d.createBuffer(f(d.createTexture(t)))', 'd.createBuffer($at(8,f(d.createTexture($at(7,t)))))'],
      ['sizes.map((s) => d.createBuffer(s))', 'sizes.map((s) => ($count(0),d.createBuffer($at(7,s))))'],
    ];
    for (const [call, expected] of cases) assert.equal(announced(call), expected);
    for (const call of [
      'gl.createBuffer()',
      'audio.createBuffer(2, 8, rate)',
      'd.createBuffer(...all)',
      'createBuffer(a)',
      'd.createBufferOf(a)',
    ])
      assert.equal(announced(call), call);
  });

  it('and counters do no harm in a function that is sent elsewhere as text', () => {
    const { source } = rewrite('const f = (d) => { return d.createBuffer({ size: 4 }); };', 'a.js', 0)!;
    const text = source.slice(source.indexOf('(d) =>'), -1);
    const sent = new Function(`return ${text}`)() as (device: { createBuffer(descriptor: object): unknown }) => unknown;
    assert.deepEqual(sent({ createBuffer: (descriptor) => descriptor }), { size: 4 });
  });

  /** A program of one helper: `enter` calls it, `other` calls something else, `caller` says whose stack is there. */
  function faked(uncounted = false) {
    const helper = { name: 'helper' };
    const counts = { helper: 0, all: 0 };
    let caller = 'a';
    let looks = 0;
    const known = new Map<string, Stack>();
    const calls = {
      get total() {
        return counts.all;
      },
      countOf: () => counts.helper,
      isUncounted: () => uncounted,
      takeSite: () => 1,
    } as unknown as Calls;
    const stackOf = createSites(calls, {
      capture() {
        looks += 1;
        if (!known.has(caller)) known.set(caller, { place: known.size, frames: [{}], functions: [helper], caller } as unknown as Stack);
        return known.get(caller)!;
      },
      again: (stack) => stack,
    });
    return {
      enter: (by = caller) => ((caller = by), (counts.helper += 1), (counts.all += 1)),
      other: () => (counts.all += 1),
      stack: () => stackOf(() => undefined).caller,
      looks: () => looks,
    };
  }

  it('are looked at once while no function is entered', () => {
    const { enter, stack, looks } = faked();
    enter();
    for (let i = 0; i < 100; i += 1) assert.equal(stack(), 'a');
    assert.equal(looks(), 1);
  });

  it('in a helper are looked at until its callers were the same many times, and now and then after that', () => {
    const { enter, stack, looks } = faked();
    for (let i = 0; i < 17; i += 1) (enter(), stack());
    assert.equal(looks(), 17);
    for (let i = 0; i < 5000; i += 1) (enter(), stack());
    assert.equal(looks(), 17 + 22, 'ever more rarely, and at least once in 257');
  });

  it('are the same when the same functions run in between; other numbers of them mean another caller', () => {
    const { enter, other, stack, looks } = faked();
    const round = (others: number): void => {
      for (let i = 0; i < others; i += 1) other();
      enter();
      stack();
    };
    for (let i = 0; i < 30; i += 1) round(2);
    const before = looks();
    assert.ok(before < 30);
    for (let i = 0; i < 10; i += 1) round(i % 2 === 0 ? 1 : 3);
    assert.equal(looks(), before + 10);
  });

  it('in a function that is not counted are looked at each time', () => {
    const { stack, looks } = faked(true);
    for (let i = 0; i < 50; i += 1) stack();
    assert.equal(looks(), 50);
  });

  it('are looked at each time when the callers change', () => {
    const { enter, other, stack, looks } = faked();
    for (let i = 0; i < 60; i += 1) {
      other();
      enter(i % 2 === 0 ? 'a' : 'b');
      assert.equal(stack(), i % 2 === 0 ? 'a' : 'b');
    }
    for (let i = 0; i < 60; i += 1) {
      enter(i % 3 === 0 ? 'a' : 'b');
      assert.equal(stack(), i % 3 === 0 ? 'a' : 'b');
    }
    assert.equal(looks(), 120);
  });

  it('of a real program: every byte on its line, and each caller with what it made', async () => {
    const written = programs();
    try {
      const { report } = await measured({
        entry: written.write(
          'sites.ts',
          `const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
const held: GPUBuffer[] = [];
function make(size: number): void { held.push(device.createBuffer({ size, usage: 128 })); }
function many(): void { for (let i = 0; i < 300; i += 1) make(256); }
function few(): void { make(1024); make(2048); }
function texture(): void { device.createTexture({ size: [16, 16], format: 'rgba8unorm', usage: 4 }).destroy(); }
for (let round = 0; round < 3; round += 1) {
  many();
  few();
  texture();
  for (const buffer of held.splice(0)) buffer.destroy();
}
const scratch = (size: number): GPUBuffer =>
  device.createBuffer({ size, usage: 128 });
function calls(): void {
  scratch(16).destroy();
  scratch(32).destroy();
}
calls();
for (let i = 0; i < 40; i += 1) device.createBuffer({ size: 4, usage: 128 }).destroy(); device.createBuffer({ size: 8, usage: 128 }).destroy();
const small = (): GPUBuffer => device.createBuffer({ size: 64, usage: 128 });
function forward(): void { [1].map(() => small().destroy()); }
function backward(): void { [1].map(() => small().destroy()); }
const keep = device.createBuffer({ size: 1 << 20, usage: 128 });
for (let i = 0; i < 300; i += 1) forward();
keep.destroy();
for (let i = 0; i < 300; i += 1) backward();
`,
        ),
      });
      assert.deepEqual(
        report.lines.map(({ line, allocations, allocatedBytes }) => [line, allocations, allocatedBytes]),
        [
          [3, 906, 3 * (300 * 256 + 3072)],
          [6, 3, 3 * 1024],
          [14, 2, 48],
          [20, 41, 168],
          [21, 600, 600 * 64],
          [24, 1, 1 << 20],
        ],
      );
      const peaks = new Map(report.functions.map(({ name, peakBytes, calls }) => [name, [calls, peakBytes]]));
      assert.deepEqual(peaks.get('make'), [906, 300 * 256 + 3072]);
      assert.deepEqual(peaks.get('many'), [3, 300 * 256]);
      assert.deepEqual(peaks.get('few'), [3, 300 * 256 + 3072]);
      // The same helper in the same way from two functions, one after the other: neither is taken for the other.
      assert.deepEqual(peaks.get('forward'), [300, 64 + (1 << 20)]);
      assert.deepEqual(peaks.get('backward'), [300, 64]);
      assert.deepEqual(peaks.get('texture'), [3, 300 * 256 + 3072 + 1024]);
    } finally {
      written.remove();
    }
  });
});
