/**
 * The long run: `node --import tsx test/fuzz/runtime/long.ts [PROGRAMS] [SEED] [EVERY]`; every EVERY-th program runs on WebGPU too.
 *
 * Prints how many ran to their end, the share that was refused and why, a histogram of steps, and each failure, made
 * smaller, as a recipe to keep. Depends on: check, recipe, support/gpu.
 */
import process from 'node:process';
import { cpuDevice, sharedWebGPU } from '../../support/gpu.ts';
import { check, smallest } from './check.ts';
import { randomRecipe } from './recipe.ts';

const cpu = cpuDevice();
const [programs = 1000, seed = 1, every = 5] = process.argv.slice(2).map(Number);
const gpu = every > 0 ? await sharedWebGPU() : undefined;
const steps = new Map<string, number>();
const refusals = new Map<string, number>();
let [ran, rejected, wrong, onGpu] = [0, 0, 0, 0];
const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);

for (let at = seed; at < seed + programs; at++) {
  const recipe = randomRecipe(at);
  const devices = { cpu, gpu: every > 0 && at % every === 0 ? gpu : undefined };
  const verdict = await check(recipe, devices);
  switch (verdict.kind) {
    case 'ran':
      ran++;
      if (devices.gpu !== undefined) onGpu++;
      for (const step of verdict.steps) count(steps, step);
      break;
    case 'rejected':
      rejected++;
      count(refusals, verdict.why);
      break;
    case 'wrong':
      wrong++;
      console.log(`seed ${at}: ${verdict.what}\n  ${JSON.stringify(await smallest(recipe, devices))}`);
  }
}
const listed = (map: ReadonlyMap<string, number>): string =>
  [...map]
    .toSorted((a, b) => b[1] - a[1])
    .map(([key, times]) => `${key} ${times}`)
    .join(', ');
console.log(
  `seeds ${seed} to ${seed + programs - 1}: ${ran} ran (${onGpu} on WebGPU too), ${rejected} refused (${((100 * rejected) / programs).toFixed(1)} %), ${wrong} wrong`,
);
console.log(`steps: ${listed(steps)}`);
console.log(`refused: ${listed(refusals)}`);
process.exit(wrong === 0 ? 0 : 1);
