/**
 * A file typed from empty and edited at random: no answer fails, and at the end the findings equal those of a fresh check.
 *
 * Broken text at every step is the point: half-typed names, open braces, missing ends. Seeded, so a failure repeats.
 * Depends on: workspace, support.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspace } from '../../language-server/workspace.ts';
import { checkout, lay } from '../support/fixture.ts';

const token = { isCancelled: false };

/** A small generator with a seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

describe('edits', function () {
  this.timeout(240_000);
  const sources = ['tidemark-03-target-network-alias.ts', 'jaxjs-05-tree-consumed-twice.ts', 'webgpu-11-uniforms-per-frame.ts'];

  for (const [k, name] of sources.entries()) {
    it(`${name}: typed and edited, it ends as a fresh check does`, async () => {
      const text = readFileSync(join(checkout, 'test/cases', name), 'utf8');
      const fixture = lay([
        { name: 'a.ts', text: '' },
        { name: 'b.ts', text: "export const other = 'here';\n" },
      ]);
      try {
        const file = fixture.files[0]!;
        const workspace = createWorkspace({ cwd: fixture.folder });
        const next = random(7 + k);
        for (let at = 0; at < text.length; at += 40 + Math.floor(next() * 200)) {
          workspace.setText(file, text.slice(0, at));
          await workspace.diagnostics(token, file);
        }
        for (let i = 0; i < 12; i++) {
          const cut = Math.floor(next() * text.length);
          const length = Math.floor(next() * 30);
          workspace.setText(file, text.slice(0, cut) + ['', '{', ')', 'x.', '`'][i % 5]! + text.slice(cut + length));
          await workspace.diagnostics(token, file);
          await workspace.hover(token, file, { line: 1 + Math.floor(next() * 40), column: 1 + Math.floor(next() * 200) });
        }
        workspace.setText(file, text);
        const edited = await workspace.diagnostics(token, file);
        const fresh = createWorkspace({ cwd: fixture.folder });
        fresh.setText(file, text);
        assert.deepEqual(edited, await fresh.diagnostics(token, file));
        assert.ok(edited.length > 0, 'the file has a finding to begin with');
      } finally {
        fixture.remove();
      }
    });
  }

  it('a change while an answer is being made cancels it', async () => {
    const fixture = lay([{ name: 'a.ts', text: readFileSync(join(checkout, 'test/cases/tfjs-01-webcam-input.ts'), 'utf8') }]);
    try {
      const workspace = createWorkspace({ cwd: fixture.folder });
      await assert.rejects(workspace.diagnostics({ isCancelled: true }, fixture.files[0]!), /cancelled/);
    } finally {
      fixture.remove();
    }
  });

  it('works without a tsconfig, and on a file outside the one there is', async () => {
    const text = "import * as tf from '@tensorflow/tfjs';\nexport function f(): number {\n  const t = tf.ones([4]);\n  return t.size;\n}\n";
    const fixture = lay([{ name: 'a.ts', text }], { tsconfig: false });
    try {
      const { diagnostics } = await createWorkspace({ cwd: fixture.folder }).check(['a.ts']);
      assert.deepEqual(
        diagnostics.map(({ rule, line }) => `${rule} ${line}`),
        ['leak 3'],
      );
    } finally {
      fixture.remove();
    }
  });
});
