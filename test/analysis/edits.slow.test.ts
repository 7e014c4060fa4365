/**
 * Random edits of the corpus' programs: after each, a workspace that has seen them all says what one made afresh says.
 *
 * Lines come, go, change and come back; questions are cancelled half-way, and asked while others are being answered.
 * The seed is in the test's name; `EDIT_SEEDS=1,2,3` asks for others. Depends on: workspace, fuzz/seeded, support.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { createWorkspace, type CancelToken, type Workspace } from '../../language-server/workspace.ts';
import { seeded, type Random } from '../fuzz/seeded.ts';
import { lay } from '../support/fixture.ts';

const folders = ['../cases', '../fixtures/programs'].map((name) => fileURLToPath(new URL(name, import.meta.url)));
const always: CancelToken = { isCancelled: false };

function sample(random: Random, count: number): readonly { readonly name: string; readonly text: string }[] {
  const all = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
      .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') })),
  );
  const inParts = all.filter(({ name }) => name.includes('.lib.')).map(({ name }) => name.replace('.lib', ''));
  const first = all.find(({ name }) => name === random.pick(inParts))!;
  const chosen = new Map([first, ...Array.from({ length: count }, () => random.pick(all))].map((file) => [file.name, file]));
  // What a program imports comes with it.
  for (const { name } of [...chosen.values()])
    for (const other of all) if (other.name.startsWith(`${name.replace(/\.tsx?$/, '')}.`)) chosen.set(other.name, other);
  return [...chosen.values()];
}

function edited(text: string, original: string, random: Random): string {
  const lines = text.split('\n');
  const at = random.below(lines.length);
  const line = lines[at]!;
  switch (random.below(7)) {
    case 0:
      lines.splice(at, 0, '  // a comment');
      break;
    case 1:
      lines[at] = `${line} // more`;
      break;
    case 2:
      if (/dispose|using|tidy|\.ref|destroy/.test(line)) lines.splice(at, 1);
      break;
    case 3:
      lines.splice(at, 0, '');
      break;
    case 4:
      lines[at] = line.replace(/\b\d+\b/, (digits) => String(Number(digits) + 1));
      break;
    case 5:
      lines.splice(at, 0, line);
      break;
    default:
      return original;
  }
  return lines.join('\n');
}

/** Wanted until it was asked about `times` times. */
function cancelledAfter(times: number): CancelToken {
  let left = times;
  return {
    get isCancelled() {
      return left-- <= 0;
    },
  };
}

const said = async (workspace: Workspace, file: string): Promise<unknown> => [
  await workspace.diagnostics(always, file),
  await workspace.functions(always, file),
];

describe('answers after random edits', function () {
  this.timeout(0);
  for (const seed of (process.env['EDIT_SEEDS'] ?? '11').split(',').map(Number))
    it(`are those of a fresh workspace (seed ${seed})`, async () => {
      const random = seeded(seed);
      const files = sample(random, 5);
      const fixture = lay(files);
      try {
        const workspace = createWorkspace({ cwd: fixture.folder });
        for (const { name, text: original } of files) {
          const file = join(fixture.folder, name);
          let text = original;
          workspace.setText(file, text);
          await workspace.diagnostics(always, file);
          for (let round = 0; round < 5; round++) {
            text = edited(text, original, random);
            workspace.setText(file, text);
            if (random.chance(0.3)) await workspace.diagnostics(cancelledAfter(random.below(400)), file).catch(() => undefined);
            if (random.chance(0.2)) {
              void workspace.functions(always, file).catch(() => undefined);
              continue;
            }
            const fresh = createWorkspace({ cwd: fixture.folder });
            fresh.setText(file, text);
            const users = files.filter((other) => other.text.includes(`./${name.replace(/\.tsx?$/, '')}`)).map((other) => other.name);
            for (const asked of [name, ...users]) {
              const at = join(fixture.folder, asked);
              assert.deepEqual(await said(workspace, at), await said(fresh, at), `${asked} after round ${round} in ${name}:\n${text}`);
            }
          }
          workspace.setText(file, undefined);
        }
      } finally {
        fixture.remove();
      }
    });
});
