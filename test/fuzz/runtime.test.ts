/**
 * Random array programs in every way they can be run; TIDEMARK_FUZZ says how many, TIDEMARK_SEED from which.
 *
 * What once went wrong is kept as a recipe. Depends on: runtime/check, runtime/recipe, support/gpu.
 */
import { strict as assert } from 'node:assert';
import { cpuDevice, sharedWebGPU } from '../support/gpu.ts';
import { check, type Devices } from './runtime/check.ts';
import { randomRecipe, type Recipe } from './runtime/recipe.ts';

const count = Number(process.env['TIDEMARK_FUZZ'] ?? 60);
const first = Number(process.env['TIDEMARK_SEED'] ?? 1);

/** Failures of former runs, made as small as they would go. */
const kept: readonly (readonly [string, Recipe])[] = [
  [
    'an index that a function makes, when it is compiled inside of a scope',
    { seed: 21, inputs: [[8], [1, 3]], instructions: [{ step: 'take', on: 0, seed: 182328 }], differentiated: false, donated: [] },
  ],
  [
    'a result and another view of it, both read where the result is made',
    {
      seed: 4848,
      inputs: [
        [1, 5],
        [2, 3],
        [4, 3],
      ],
      instructions: [
        { step: 'vmap', on: 4, seed: 383989 },
        { step: 'einsum', on: 0, seed: 248118 },
        { step: 'transpose', on: 0, seed: 932511 },
        { step: 'divide', on: 0, seed: 629261 },
      ],
      differentiated: false,
      donated: [],
    },
  ],
  [
    'a sum of sums of which each lane has a copy',
    {
      seed: 20985,
      inputs: [[5], [1, 2], [5, 3]],
      instructions: [
        { step: 'outer', on: 0, seed: 254221 },
        { step: 'outer', on: 0, seed: 485705 },
        { step: 'expand', on: 0, seed: 372485 },
        { step: 'softmax', on: 0, seed: 72190 },
        { step: 'mean', on: 0, seed: 848689 },
      ],
      differentiated: false,
      donated: [],
    },
  ],
  [
    'a maximum over what is itself a maximum: sixteen of them in a loop, each with a branch, kept the compiler of shaders busy for ever',
    {
      seed: 1540,
      inputs: [[8, 8]],
      instructions: [
        { step: 'divide', on: 0, seed: 325754 },
        { step: 'negative', on: 0, seed: 604089 },
        { step: 'maximum', on: 0, seed: 107086 },
        { step: 'softmax', on: 0, seed: 301956 },
        { step: 'einsum', on: 0, seed: 131994 },
        { step: 'forLoop', on: 0, seed: 916249 },
        { step: 'vjp', on: 0, seed: 970856 },
        { step: 'map', on: 0, seed: 832860 },
        { step: 'map', on: 3, seed: 967304 },
        { step: 'flip', on: 0, seed: 693208 },
      ],
      differentiated: false,
      donated: [],
    },
  ],
];

describe('random array programs', function () {
  this.timeout(600_000);

  it(`${count} of them: compiled as op by op, donating changes no bit and raises no peak, planned is measured`, async () => {
    const cpu = cpuDevice();
    const gpu = await sharedWebGPU();
    let ran = 0;
    for (let seed = first; seed < first + count; seed++) {
      const verdict = await check(randomRecipe(seed), { cpu, gpu: seed % 10 === 0 ? gpu : undefined });
      assert.notEqual(verdict.kind, 'wrong', `seed ${seed}: ${verdict.kind === 'wrong' ? verdict.what : ''}`);
      if (verdict.kind === 'ran') ran++;
    }
    assert.ok(ran >= 0.8 * count, `${ran} of ${count} ran`);
  });

  for (const [name, recipe] of kept)
    it(`keeps right: ${name}`, async () => {
      const devices: Devices = { cpu: cpuDevice(), gpu: await sharedWebGPU() };
      assert.equal((await check(recipe, devices)).kind, 'ran');
    });
});
