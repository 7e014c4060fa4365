/**
 * The steps of a program as work on the queue.
 *
 * Loops of known length are unrolled. A choice is made on the device, by gates: all branches are queued, one of them runs.
 * A loop of unknown length is queued in batches of rounds that shut themselves, each twice as long as the one before, and
 * after each batch the host looks once whether it has ended. Only where a loop of unknown length lies inside of another
 * decision the host has to know that one first, and waits for its number every time.
 *
 *     while   c g b c g b c g b c g b | open? | c g b c g b …       c condition, g gate, b body
 *
 * Depends on: compile, backend, gates, recorder.
 */
import type { Executable, Step } from '../compile/executable.ts';
import type { Resolve, Spot } from './backend.ts';
import { decisionsIn, makeGates, whenChosen, whenTrue, type Gate, type Gates } from './gates.ts';
import type { Pipelines } from './pipelines.ts';
import type { Recorder } from './recorder.ts';

export interface Encoding {
  readonly device: GPUDevice;
  readonly pipelines: Pipelines;
  readonly recorder: Recorder;
  readonly resolve: Resolve;
  readonly mostSlabs: number;
  /** Reads after all that was submitted. */
  readonly readWord: (from: Spot | { readonly buffer: GPUBuffer; readonly offset: number }) => Promise<number>;
}

type While = Extract<Step, { kind: 'while' }>;

/** Launches between submits. */
const encodedAtOnce = 4096;
/** Launches in the first batch of a loop of unknown length: what is queued in vain should cost less than looking. */
const launchesAtFirst = 32;

/**
 * Records the steps, and submits what has to run before the rest is known; returns a promise when that needs numbers from
 * the device.
 */
export function encode({ steps }: Executable, encoding: Encoding): void | Promise<void> {
  const { recorder } = encoding;
  const decisions = decisionsIn(steps, []);
  const gates = decisions.length === 0 ? undefined : makeGates(decisions, encoding);
  const whole = { ...encoding, gates };
  if (!steps.some(waits)) {
    encodeAll(steps, [], undefined, whole);
    if (gates !== undefined) recorder.lastUsed(gates.buffer);
    return undefined;
  }
  return encodeWaiting(steps, [], whole).finally(() => recorder.lastUsed(gates!.buffer));
}

/** What the host has to look at while it runs. */
const waits = (step: Step): boolean =>
  step.kind === 'while' || (step.kind === 'loop' && step.body.some(waits)) || (step.kind === 'choice' && step.branches.flat().some(waits));

interface Context extends Encoding {
  /** Absent: no decisions. */
  readonly gates: Gates | undefined;
}

/** Steps that need no looks, behind a gate or not. */
function encodeAll(steps: readonly Step[], loops: number[], behind: Gate | undefined, context: Context): void {
  const { recorder, resolve, gates } = context;
  for (const step of steps) {
    switch (step.kind) {
      case 'launch':
        recorder.launch(
          step.kernel,
          step.at.map((location) => resolve(location, loops)),
          step.aligned,
          behind === undefined || step.kernel.extents.includes(0) ? undefined : { buffer: gates!.buffer, args: behind.argsOf(step) },
        );
        break;
      case 'loop':
        for (let i = 0; i < step.length; i++) {
          loops[step.loop] = i;
          encodeAll(step.body, loops, behind, context);
          if (recorder.pending() >= encodedAtOnce) recorder.submit();
        }
        break;
      case 'choice': {
        // All gates first: a branch may write over the index.
        const word = resolve(step.index, loops);
        step.branches.forEach((branch, k) =>
          recorder.decide(gates!, gates!.gateOf(branch), { word, ...whenChosen(k, step.branches.length), behind }),
        );
        for (const branch of step.branches) encodeAll(branch, loops, gates!.gateOf(branch), context);
        break;
      }
      case 'while':
        throw new Error('internal: runtime/device: a loop of unknown length behind a gate');
    }
  }
}

async function encodeWaiting(steps: readonly Step[], loops: number[], context: Context): Promise<void> {
  const { recorder, resolve, readWord } = context;
  for (const step of steps) {
    if (!waits(step)) {
      encodeAll([step], loops, undefined, context);
      continue;
    }
    switch (step.kind) {
      case 'launch':
        break;
      case 'loop':
        for (let i = 0; i < step.length; i++) {
          loops[step.loop] = i;
          await encodeWaiting(step.body, loops, context);
        }
        break;
      case 'choice': {
        recorder.submit();
        const wanted = await readWord(resolve(step.index, loops));
        await encodeWaiting(step.branches[Math.max(0, Math.min(step.branches.length - 1, wanted))]!, loops, context);
        break;
      }
      case 'while':
        if (![...step.condition, ...step.body].some(waits)) {
          await encodeBatches(step, loops, context);
          break;
        }
        for (;;) {
          await encodeWaiting(step.condition, loops, context);
          recorder.submit();
          if ((await readWord(resolve(step.predicate, loops))) === 0) break;
          await encodeWaiting(step.body, loops, context);
        }
    }
  }
}

async function encodeBatches(step: While, loops: number[], context: Context): Promise<void> {
  const { recorder, resolve, readWord } = context;
  const gates = context.gates!;
  const gate = gates.gateOf(step);
  const word = resolve(step.predicate, loops);
  const launches = Math.max(1, launchesOf([...step.condition, ...step.body]));
  const most = Math.max(1, Math.floor(encodedAtOnce / launches));
  for (let rounds = Math.max(1, Math.floor(launchesAtFirst / launches)); ; rounds = Math.min(2 * rounds, most)) {
    for (let round = 0; round < rounds; round++) {
      // The first of a batch is known to be wanted; the condition of a later one only while the loop still runs.
      encodeAll(step.condition, loops, round === 0 ? undefined : gate, context);
      recorder.decide(gates, gate, { word, ...whenTrue, behind: undefined });
      encodeAll(step.body, loops, gate, context);
    }
    recorder.submit();
    if ((await readWord({ buffer: gates.buffer, offset: 4 * gate.at })) === 0) return;
  }
}

function launchesOf(steps: readonly Step[]): number {
  return steps.reduce((sum, step) => {
    switch (step.kind) {
      case 'launch':
        return sum + 1;
      case 'loop':
        return sum + step.length * launchesOf(step.body);
      case 'choice':
        return sum + launchesOf(step.branches.flat());
      case 'while':
        return sum + launchesOf([...step.condition, ...step.body]);
    }
  }, 0);
}
