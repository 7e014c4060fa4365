/**
 * Why the analysis stayed silent: what it could not follow is counted, and so is what went wrong inside of it.
 *
 * Depends on: support/check, support/fixture.
 */
import assert from 'node:assert/strict';
import type { Silence } from '../../language-server/protocol.ts';
import { checkFolder } from '../support/check.ts';
import { lay } from '../support/fixture.ts';

const texts = {
  // Names that every object has are names like any other.
  'names.ts': `import * as tf from '@tensorflow/tfjs';
class Base {
  constructor(readonly x: tf.Tensor) {}
  copy(): Base {
    return new (this.constructor as new (x: tf.Tensor) => Base)(this.x.clone());
  }
  static show(): string {
    return (Base as { toString(): string }).toString();
  }
}
export class Sub extends Base {
  show(): string {
    return \`\${this.copy()} \${this.toString()} \${Base.show()}\`;
  }
}
`,
  'freed.ts': `import * as tf from '@tensorflow/tfjs';
declare function keep(x: unknown): void;
export function given(x: tf.Tensor): void {
  x.dispose();
}
export function known(): void {
  const x = tf.zeros([2]);
  x.dispose();
}
export function shared(): void {
  const x = tf.zeros([2]);
  keep(x);
  x.dispose();
}
export function nothing(x: tf.Tensor): tf.Tensor {
  return tf.tidy(() => x.square());
}
export function something(x: tf.Tensor): tf.Tensor {
  return tf.tidy(() => x.square().sum());
}
`,
};

describe('reasons for silence', function () {
  this.timeout(60_000);
  let silence: readonly Silence[] = [];

  before(async () => {
    const fixture = lay(Object.entries(texts).map(([name, text]) => ({ name, text })));
    try {
      silence = (await checkFolder(fixture.folder, { explainSilence: true })).silence ?? [];
    } finally {
      fixture.remove();
    }
  });

  it('tell of faults inside of the analysis, and there are none', () => {
    assert.deepEqual(
      silence.filter(({ rule }) => rule === 'internal fault'),
      [],
    );
  });

  it('say where a forgotten free would go unnoticed', () => {
    const found = silence
      .flatMap(({ reason, places = [] }) => places.map(({ file, line }) => `${file}:${line} ${reason.slice(reason.indexOf(': ') + 2)}`))
      .toSorted();
    assert.deepEqual(found, [
      'freed.ts:13 others may hold it: passed to unknown code',
      'freed.ts:16 nothing that is known is left in it',
      'freed.ts:4 it came from outside',
    ]);
  });
});
