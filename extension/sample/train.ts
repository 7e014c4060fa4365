/**
 * Four steps of gradient descent. Each step makes new weights while the old ones are still there: two copies at once.
 *
 * Click `▶ Profile memory` below, then take the fix at the underlined call, then profile again.
 */
import { jit, np, valueAndGrad, type Array } from 'tidemark';

function loss(weights: Array, x: Array, y: Array): Array {
  const wrong = x.matmul(weights).sub(y);
  return wrong.mul(wrong).mean();
}

const step = jit((weights: Array, x: Array, y: Array): [Array, Array] => {
  const [value, gradient] = valueAndGrad(loss)(weights, x, y);
  return [weights.sub(gradient.mul(500)), value];
});

async function main(): Promise<void> {
  using x = np.eye(16, 4096);
  using y = np.ones([16, 256]);
  let weights = np.zeros([4096, 256]);
  for (let i = 1; i <= 4; i++) {
    const [next, value] = step(weights, x, y);
    weights.dispose();
    weights = next;
    console.log(`step ${i}: loss ${await value.item()}`);
    value.dispose();
  }
  weights.dispose();
}

await main();
