// Expected peak: 356.8 KiB (365,312 bytes).
/**
 * Trains a stack of attention blocks to copy its input, with `checkpoint` around each block.
 *
 * Without it the gradient keeps every block's score matrices until the backward pass; with it a block keeps its input
 * only and computes the rest again. Run it with `node --import tsx examples/attention.ts [steps]`.
 * Depends on: tidemark.
 */
import { checkpoint, grad, jit, nn, np, random, tree, type Array } from 'tidemark';

interface Block {
  query: Array;
  key: Array;
  value: Array;
}

const DEPTH = 4;
const LENGTH = 128;
const WIDTH = 32;

const attend = checkpoint((x: Array, { query, key, value }: Block): Array => {
  const scores = x
    .matmul(query)
    .matmul(x.matmul(key).transpose())
    .mul(1 / Math.sqrt(WIDTH));
  return x.add(nn.softmax(scores).matmul(x.matmul(value)));
});

function loss(blocks: Block[], x: Array): Array {
  let h = x;
  for (const block of blocks) h = attend(h, block);
  return np.square(h.sub(x)).mean();
}

const step = jit((blocks: Block[], x: Array): Block[] => tree.map((p, g) => p.sub(g.mul(0.1)), blocks, grad(loss)(blocks, x)), {
  donateArgnums: [0],
});
const measure = jit(loss);

function makeBlocks(): Block[] {
  const blocks: Block[] = [];
  for (let i = 0; i < DEPTH; i++) {
    const [query, key, value] = [0, 1, 2].map((part) => {
      using seed = random.key(3 * i + part);
      using noise = random.normal(seed, [WIDTH, WIDTH]);
      return noise.mul(0.1);
    });
    blocks.push({ query: query!, key: key!, value: value! });
  }
  return blocks;
}

export async function train(steps: number): Promise<number> {
  using seed = random.key(99);
  using x = random.normal(seed, [LENGTH, WIDTH]);
  let blocks = makeBlocks();
  for (let i = 0; i < steps; i++) blocks = step(blocks, x);
  using value = measure(blocks, x);
  const result = await value.item();
  tree.dispose(blocks);
  return result;
}

console.log(`loss ${await train(Number(process.argv[2] ?? 3))}`);
