// Expected peak: 512.0 KiB (524,288 bytes).
/**
 * The mean of many batches, folded into one array: a loop that would pile up an array per round if it kept them.
 *
 * The running sum is donated, so each round writes over it; the batch is freed at the end of its round by `using`.
 * Run it with `node --import tsx examples/fold-batches.ts`. Depends on: tidemark.
 */
import { jit, np, type Array } from 'tidemark';

const BATCHES = 20;
const SIDE = 256;

const accumulate = jit((sum: Array, batch: Array): Array => sum.add(batch), { donateArgnums: [0] });

async function main(): Promise<void> {
  let sum = np.zeros([SIDE, SIDE]);
  for (let i = 0; i < BATCHES; i++) {
    using batch = np.full([SIDE, SIDE], i);
    sum = accumulate(sum, batch);
  }
  using mean = sum.div(BATCHES);
  sum.dispose();
  using middle = mean.mean();
  console.log(`mean ${await middle.item()}`);
}

await main();
