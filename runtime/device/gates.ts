/**
 * Decisions that the device makes for itself: launches that run or not by a word that a kernel left in memory.
 *
 * A gate is opened or shut by a kernel of one invocation. For every size of grid that is launched behind it, it holds the
 * workgroups to start, none while it is shut, and those launches are dispatched indirectly: one that is not wanted costs
 * next to nothing, and nobody waits for a number to come back.
 *
 *     gate   | open | grids | x y  x y … | x y z  x y z … |
 *                           | wanted     | to start       |
 *
 * Depends on: compile, backend, pipelines.
 */
import { basesLines } from '../compile/wgsl.ts';
import type { Step } from '../compile/executable.ts';
import { boundFor, type Resolve, type Spot } from './backend.ts';
import type { Pipelines } from './pipelines.ts';

type Launch = Extract<Step, { kind: 'launch' }>;

/** Open when the word lies between these, both included, and what it stands behind is open. */
export interface Opening {
  readonly word: Spot;
  readonly least: number;
  readonly most: number;
  readonly behind: Gate | undefined;
}

export interface Gate {
  /** Where it begins in the buffer of gates, in words. */
  readonly at: number;
  /** Where in the buffer of gates the workgroups of a launch stand, in bytes. */
  readonly argsOf: (launch: Launch) => number;
}

export interface Gates {
  readonly buffer: GPUBuffer;
  readonly gateOf: (key: object) => Gate;
}

const lowest = -(2 ** 31);
const highest = 2 ** 31 - 1;

/** A bool. */
export const whenTrue = { least: 1, most: highest };

/** Branch `branch` of so many; an index beyond them is that of the nearest. */
export const whenChosen = (branch: number, branches: number): { readonly least: number; readonly most: number } => ({
  least: branch === 0 ? lowest : branch,
  most: branch === branches - 1 ? highest : branch,
});

/** What decides about which steps: a loop about its condition and body, a choice about each branch. */
export interface Decision {
  readonly key: object;
  readonly steps: readonly Step[];
  /** Counters of the loops that it lies in. */
  readonly loops: readonly number[];
}

/** All decisions among steps that the device can make for itself, those inside of others too. */
export function decisionsIn(steps: readonly Step[], loops: readonly number[]): readonly Decision[] {
  return steps.flatMap((step): readonly Decision[] => {
    switch (step.kind) {
      case 'launch':
        return [];
      case 'loop':
        return decisionsIn(step.body, within(step.loop, loops));
      case 'while': {
        const inside = [...step.condition, ...step.body];
        return [{ key: step, steps: inside, loops }, ...decisionsIn(inside, loops)];
      }
      case 'choice':
        return step.branches.flatMap((branch) => [{ key: branch, steps: branch, loops }, ...decisionsIn(branch, loops)]);
    }
  });
}

function within(loop: number, loops: readonly number[]): readonly number[] {
  const inside = [...loops];
  inside[loop] = 0;
  return inside;
}

interface Context {
  readonly device: GPUDevice;
  readonly pipelines: Pipelines;
  readonly resolve: Resolve;
  readonly mostSlabs: number;
}

export function makeGates(decisions: readonly Decision[], context: Context): Gates {
  const gates = new Map<object, Gate>();
  const words: number[] = [];
  for (const { key, steps, loops: outer } of decisions) {
    const at = words.length;
    const grids: (readonly [number, number])[] = [];
    const slots = new Map<Launch, number>();
    for (const { step, loops } of launchesIn(steps, outer)) {
      const [x, y] = gridOf(step, loops, context);
      const known = grids.findIndex((grid) => grid[0] === x && grid[1] === y);
      slots.set(step, known >= 0 ? known : grids.push([x, y]) - 1);
    }
    words.push(0, grids.length, ...grids.flat(), ...grids.flatMap(() => [0, 0, 0]));
    gates.set(key, { at, argsOf: (launch) => 4 * (at + 2 + 2 * grids.length + 3 * slots.get(launch)!) });
  }
  const buffer = context.device.createBuffer({
    size: Math.max(16, 4 * words.length),
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.INDIRECT | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    label: 'tidemark gates',
  });
  context.device.queue.writeBuffer(buffer, 0, Uint32Array.from(words));
  return { buffer, gateOf: (key) => gates.get(key)! };
}

/** Launches that a decision is about; those behind a decision of their own have that one's. */
function launchesIn(
  steps: readonly Step[],
  loops: readonly number[],
): readonly { readonly step: Launch; readonly loops: readonly number[] }[] {
  return steps.flatMap((step) => {
    if (step.kind === 'launch') return step.kernel.extents.includes(0) ? [] : [{ step, loops }];
    return step.kind === 'loop' ? launchesIn(step.body, within(step.loop, loops)) : [];
  });
}

function gridOf(
  { kernel, at, aligned }: Launch,
  loops: readonly number[],
  { pipelines, resolve, mostSlabs }: Context,
): readonly [number, number] {
  const { slabs } = boundFor(at.map((location) => resolve(location, loops)));
  const gathered = new Set(slabs).size > mostSlabs;
  return pipelines.ready(gathered ? { kernel, slabs: slabs.map(() => 0), aligned: true } : { kernel, slabs, aligned }).grid;
}

/** What the kernel that opens and shuts is told: word, gate, least, most, the gate that it stands behind. */
export const gateSlots = 5;

export const gateText = (bases: Pipelines['bases']): string =>
  [
    ...basesLines(bases, gateSlots),
    '@group(0) @binding(0) var<storage, read_write> words: array<i32>;',
    '@group(0) @binding(1) var<storage, read_write> gates: array<u32>;',
    '@compute @workgroup_size(1)',
    'fn main() {',
    'let word = words[bases.b0];',
    'let at = bases.b1;',
    'var open = word >= bases.b2 && word <= bases.b3;',
    'if (bases.b4 >= 0) { open = open && gates[bases.b4] != 0u; }',
    'gates[at] = u32(open);',
    'let grids = i32(gates[at + 1]);',
    'for (var i = 0; i < grids; i++) {',
    'let wanted = at + 2 + 2 * i;',
    'let start = at + 2 + 2 * grids + 3 * i;',
    'gates[start] = select(0u, gates[wanted], open);',
    'gates[start + 1] = select(0u, gates[wanted + 1], open);',
    'gates[start + 2] = u32(open);',
    '}',
    '}',
  ].join('\n');

export const gateBases = ({ word, least, most, behind }: Opening, gate: Gate): Int32Array<ArrayBuffer> =>
  Int32Array.of(word.offset / 4, gate.at, least, most, behind?.at ?? -1);
