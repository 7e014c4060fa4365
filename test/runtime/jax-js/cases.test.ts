/**
 * The correct jax-js programs of the cases and programs after jax-js's documentation, on both libraries by changing the import.
 *
 * Each is copied with its import replaced and run on `@jax-js/jax` and on `tidemark/jax-js`. Depends on: runtime,
 * test/support, test/cases, @jax-js/jax.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as theirs from '@jax-js/jax';
import type { Device } from '../../../runtime/device/device.ts';
import { near, onCpu } from '../../support/arrays.ts';
import { programs } from './programs.ts';

const cases = fileURLToPath(new URL('../../cases/', import.meta.url));
const libraries = {
  theirs: import.meta.resolve('@jax-js/jax'),
  ours: new URL('../../../runtime/jax-js.ts', import.meta.url).href,
} as const;
const flat = (x: unknown): number[] =>
  Array.isArray(x)
    ? x.flatMap(flat)
    : typeof x === 'object' && x !== null
      ? Object.values(x).flatMap(flat)
      : x === undefined
        ? []
        : [Number(x)];

describe('programs written for jax-js', () => {
  let folder: string;
  let device: Device;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-jax-js-'));
    await theirs.init('cpu');
    theirs.defaultDevice('cpu');
  });
  after(() => {
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    device = onCpu();
  });

  for (const file of readdirSync(cases).filter((name) => /^jaxjs-.*-ok\.ts$/.test(name)))
    it(`${file} runs on both, and gives all bytes back that it doesn't keep at module level`, async () => {
      const text = readFileSync(join(cases, file), 'utf8');
      const results: unknown[] = [];
      for (const [name, library] of Object.entries(libraries)) {
        const copy = join(folder, `${file.replace('.ts', '')}.${name}.mts`);
        writeFileSync(copy, text.replaceAll("'@jax-js/jax'", `'${library}'`));
        const module = (await import(pathToFileURL(copy).href)) as Readonly<Record<string, unknown>>;
        const held = device.allocator.stats().bytesInUse;
        results.push(typeof module['main'] === 'function' ? await (module['main'] as () => unknown)() : undefined);
        if (name === 'ours') assert.equal(device.allocator.stats().bytesInUse, held, 'bytes left by main()');
      }
      near(flat(results[1]), flat(results[0]), 1e-4, file);
    });

  for (const [name, program] of Object.entries(programs))
    it(`${name}: the numbers of jax-js, and every byte back`, async () => {
      const library = (await import(libraries.ours)) as Parameters<typeof program>[0];
      near(flat(program(library)), flat(program(theirs as unknown as Parameters<typeof program>[0])), 1e-4, name);
      assert.equal(device.allocator.stats().bytesInUse, 0);
    });
});
