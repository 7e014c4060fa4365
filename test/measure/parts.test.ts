/**
 * Parts of measuring with a faked machine: which Node is taken, how a group is ended, what is added to modules, where a stack lands.
 *
 * Depends on: measure, instrument.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { killGroup } from '../../language-server/measure/child.ts';
import { findNode } from '../../language-server/measure/node-path.ts';
import type { NodeSearch } from '../../language-server/measure/node-path.ts';
import { findGPU, softwareDriver } from '../../runtime/instrument/gpu.ts';
import type { Machine } from '../../runtime/instrument/gpu.ts';
import { positionsOf, rewrite } from '../../runtime/instrument/rewrite.ts';
import { packageOf } from '../../runtime/instrument/stack.ts';
import { textureBytes } from '../../runtime/instrument/texture-bytes.ts';
import { createWriter } from '../../runtime/instrument/writer.ts';
import { root } from './support.ts';

describe('finding a Node', () => {
  /** Programs of a faked machine: path -> what it answers about itself; undefined when it can't be run. */
  function search(
    programs: Readonly<Record<string, { version: string; electron?: string } | 'broken'>>,
    fields: Partial<NodeSearch> = {},
  ): NodeSearch {
    return {
      setting: undefined,
      env: { PATH: '/first:/second' },
      platform: 'linux',
      self: { path: '/editor/node-like', electron: true },
      exists: (path) => path in programs,
      async ask(path) {
        const program = programs[path];
        return program === undefined || program === 'broken' ? undefined : JSON.stringify(program);
      },
      ...fields,
    };
  }

  it('an Electron that plays Node is refused, and the next on the PATH is taken', async () => {
    const found = await findNode(
      search({ '/first/node': { version: '22.0.0', electron: '41.0.0' }, '/second/node': { version: '20.1.0' } }),
    );
    assert.deepEqual(found, { kind: 'found', path: '/second/node', version: '20.1.0' });
  });

  it('when none will do, every one that was tried is named with its reason', async () => {
    const found = await findNode(
      search(
        { '/first/node': { version: '18.0.0' }, '/second/node': 'broken' },
        { env: { PATH: '/first:/second', TIDEMARK_NODE: '/mine' } },
      ),
    );
    assert.equal(found.kind, 'missing');
    assert.match(
      found.kind === 'missing' ? found.message : '',
      /TIDEMARK_NODE \/mine: cannot be run[\s\S]*\/first\/node: is Node 18\.0\.0, older than 20[\s\S]*\/second\/node: cannot be run[\s\S]*fix: install Node 20/,
    );
  });

  it('what the setting names is not second-guessed', async () => {
    const found = await findNode(search({ '/second/node': { version: '22.0.0' } }, { setting: '/absent/node' }));
    assert.equal(found.kind, 'missing');
    assert.match(found.kind === 'missing' ? found.message : '', /the setting `tidemark\.nodePath` \/absent\/node: cannot be run/);
  });

  it('on Windows it is node.exe on a PATH with semicolons; this process when it is a real Node', async () => {
    const windows = search({ 'C:\\node\\node.exe': { version: '24.0.0' } }, { platform: 'win32', env: { Path: 'C:\\x;C:\\node' } });
    assert.equal((await findNode(windows)).kind, 'found');
    const self = search({ '/usr/bin/node': { version: '20.0.0' } }, { self: { path: '/usr/bin/node', electron: false }, env: {} });
    assert.deepEqual(await findNode(self), { kind: 'found', path: '/usr/bin/node', version: '20.0.0' });
  });

  it('without any Node it says so', async () => {
    const found = await findNode(search({}, { env: {} }));
    assert.match(found.kind === 'missing' ? found.message : '', /`node` is not on the PATH/);
  });
});

describe('ending a group', () => {
  it('is a signal to the group, and taskkill with its tree on Windows', () => {
    const calls: unknown[] = [];
    const machine = (platform: string) => ({
      platform,
      kill: (pid: number, signal: string) => void calls.push([pid, signal]),
      run: (command: string, args: readonly string[]) => void calls.push([command, ...args]),
    });
    killGroup({ pid: 42 }, machine('linux'));
    killGroup({ pid: 42 }, machine('win32'));
    assert.deepEqual(calls, [
      [-42, 'SIGKILL'],
      ['taskkill', '/PID', '42', '/T', '/F'],
    ]);
  });
});

describe('finding a GPU', () => {
  const machine = (fields: Partial<Machine>): Machine => ({
    platform: 'linux',
    arch: 'x64',
    env: {},
    exists: () => true,
    list: () => [],
    resolve: () => undefined,
    load: async () => ({ create: () => ({}), globals: {} }),
    ...fields,
  });

  it('the package of the project comes first, then ours; one that cannot be loaded is passed over', async () => {
    const loaded: string[] = [];
    const found = await findGPU(
      machine({
        resolve: (_name, from) => (from === '/project' ? '/project/webgpu.js' : from === '/own' ? '/own/webgpu.js' : undefined),
        async load(path) {
          loaded.push(path);
          if (path.startsWith('/project')) throw new Error('not for this machine');
          return { create: () => ({}), globals: {} };
        },
      }),
      ['/project', '/elsewhere', '/own'],
      '/own/dist',
    );
    assert.deepEqual(loaded, ['/project/webgpu.js', '/own/webgpu.js']);
    assert.equal('from' in found && found.from, '/own/webgpu.js');
  });

  it('software Vulkan is named only where there is no driver and the person named none', () => {
    const ours = '/own/dist/swiftshader/linux-x64/vk_swiftshader_icd.json';
    assert.equal(softwareDriver(machine({}), '/own/dist'), ours);
    assert.equal(
      softwareDriver(machine({ list: (folder) => (folder === '/etc/vulkan/icd.d' ? ['nvidia_icd.json'] : []) }), '/own/dist'),
      undefined,
    );
    assert.equal(softwareDriver(machine({ env: { VK_ICD_FILENAMES: '/mine.json' } }), '/own/dist'), undefined);
    assert.equal(softwareDriver(machine({ platform: 'darwin' }), '/own/dist'), undefined);
  });
});

describe('what is added to a module', () => {
  const source = `#!/usr/bin/env node
'use strict';
import x from 'y';
function plain(a, b = () => 1) { 'use strict'; return a / b; }
class Net extends base(x) { #w = 1; static make() { return new Net(); } async *run({ a }) { yield* a; } get ['x' + 1]() { return \`\${(() => { return this.#w; })()}\`; } }
const arrow = async (p) => p ? p.q : /[/{]/.test(p), other = q => ({ q });
if (x) { plain(1, 2); } for (const i of [1]) { switch (i) { case 1: { break; } } }
const late = x => x
  .map((y) => y + 1)
export const main = () => { try { plain(); } catch (e) { throw e; } };
`;

  it('still parses, counts every function but arrows that may end at a line break, and leaves every line a line', () => {
    const { source: rewritten, table } = rewrite(source, 'file:///a.js', 10)!;
    const errors = (text: string): readonly unknown[] =>
      (
        ts.createSourceFile('a.js', text, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS) as unknown as {
          parseDiagnostics: readonly unknown[];
        }
      ).parseDiagnostics;
    assert.deepEqual(errors(rewritten), []);
    assert.equal(rewritten.split('\n').length, source.split('\n').length);
    assert.deepEqual(
      table.functions.map(({ name }) => name),
      ['plain', 'b', 'make', 'run', '', '', 'arrow', 'other', '', 'main'],
    );
    assert.match(rewritten, /^#!\/usr\/bin\/env node\n'use strict';;\$tidemarkTable\("file:\/\/\/a\.js",/);
    assert.match(
      rewritten,
      /function plain\(a, b = \(\) => \(globalThis\.\$tidemarkCount\?\.\(11\),1\)\) \{ 'use strict';globalThis\.\$tidemarkCount\?\.\(10\);/,
    );
  });

  it('positions are put back to the column, and lead to the innermost function', () => {
    const { source: rewritten, table } = rewrite(source, 'file:///a.js', 0)!;
    const positions = positionsOf(table);
    const lines = source.split('\n');
    rewritten.split('\n').forEach((text, i) => {
      for (const word of ['return a', 'new Net', 'yield', 'p.q', 'plain(1', 'throw e', '.map', 'import']) {
        const at = text.indexOf(word);
        if (at !== -1) assert.deepEqual(positions.original(i + 1, at + 1), [i + 1, lines[i]!.indexOf(word) + 1], word);
      }
    });
    const at = (word: string): string | undefined => {
      const line = lines.findIndex((text) => text.includes(word));
      return positions.functionAt(line + 1, lines[line]!.indexOf(word) + 1)?.name;
    };
    assert.deepEqual(['return a', 'new Net', 'yield', 'throw e', 'import x'].map(at), ['plain', 'make', 'run', 'main', undefined]);
  });

  it('what is not understood is left alone', () => {
    for (const text of ['const a = "unfinished', 'function f() { [ }', '`${', 'f('])
      assert.equal(rewrite(text, 'a.js', 0), undefined, text);
  });

  it('large libraries still parse with it', () => {
    for (const path of ['@jax-js/jax/dist/index.js', 'acorn/dist/acorn.mjs', 'prettier/standalone.mjs']) {
      const { source: rewritten } = rewrite(readFileSync(join(root, 'node_modules', path), 'utf8'), path, 0)!;
      const parsed = ts.createSourceFile('a.js', rewritten, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS) as unknown as {
        parseDiagnostics: readonly unknown[];
      };
      assert.equal(parsed.parseDiagnostics.length, 0, path);
    }
  });
});

describe('small things', () => {
  it('the package of a path is what follows the last node_modules', () => {
    assert.equal(packageOf('/p/node_modules/.pnpm/x@1/node_modules/@scope/name/dist/a.js'), '@scope/name');
    assert.equal(packageOf('C:\\p\\node_modules\\name\\a.js'), 'name');
    assert.equal(packageOf('/p/src/a.ts'), undefined);
  });

  it('textures count blocks, mips, layers and samples', () => {
    const texture = { format: 'rgba8unorm', width: 5, height: 4, depthOrArrayLayers: 1, mipLevelCount: 1, sampleCount: 1, dimension: '2d' };
    assert.equal(textureBytes(texture), 80);
    assert.equal(textureBytes({ ...texture, mipLevelCount: 3 }), 80 + 2 * 2 * 4 + 4);
    assert.equal(textureBytes({ ...texture, sampleCount: 4, depthOrArrayLayers: 3 }), 80 * 12);
    assert.equal(textureBytes({ ...texture, format: 'bc1-rgba-unorm', width: 5, height: 5 }), 4 * 8);
    assert.equal(textureBytes({ ...texture, format: 'astc-10x5-unorm' }), 16);
    assert.equal(
      textureBytes({ ...texture, format: 'rg32float', dimension: '3d', depthOrArrayLayers: 4, mipLevelCount: 2 }),
      8 * (5 * 4 * 4 + 2 * 2 * 2),
    );
  });

  it('lines go out at once at a steady rate, and in blocks in a burst', () => {
    let time = 0;
    const written: string[] = [];
    const writer = createWriter(
      (text) => written.push(text),
      () => time,
    );
    const event = { kind: 'end', at: 0, exitCode: 0 } as const;
    for (let i = 0; i < 100; i += 1, time += 10) writer.write(event);
    assert.equal(written.length, 100, 'a slow program has every line on disk');
    for (let i = 0; i < 100_000; i += 1) writer.write(event);
    assert.ok(written.length < 100 + 500 + 300, `${written.length} writes for a burst`);
    writer.flush();
    assert.equal(written.join('').split('\n').length - 1, 100_100);
  });
});
