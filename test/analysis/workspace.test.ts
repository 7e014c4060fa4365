/**
 * A project of several files, as it changes: aliases of imports, files that come and go, the configuration.
 *
 * Each answer after a change must be the one that a workspace made afresh gives.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CancelToken, Workspace } from '../../language-server/workspace.ts';
import { createWorkspace } from '../../language-server/workspace.ts';
import { lay, type Fixture } from '../support/fixture.ts';

const token: CancelToken = { isCancelled: false };

const free = `import type { Array } from 'tidemark';
export function free(x: Array): void {
  x.dispose();
}
`;
const scale = `import { jit, type Array } from 'tidemark';
export const scale = jit((x: Array): Array => x.mul(2));
`;
const app = `import { np } from 'tidemark';
import { free } from '@/free.ts';
import { scale } from '@/scale.ts';
export async function main(): Promise<void> {
  const x = np.zeros([1024]);
  const y = scale(x);
  free(x);
  console.log(await y.sum().item(), await x.sum().item());
  y.dispose();
}
`;

function withPaths(files: readonly { readonly name: string; readonly text: string }[]): Fixture {
  const fixture = lay(files);
  const at = join(fixture.folder, 'tsconfig.json');
  const config = JSON.parse(readFileSync(at, 'utf8')) as { compilerOptions: Record<string, unknown> };
  config.compilerOptions['paths'] = { '@/*': ['./src/*'] };
  writeFileSync(at, JSON.stringify(config));
  return fixture;
}

describe('a project of several files', function () {
  this.timeout(0);
  let fixture: Fixture;
  let workspace: Workspace;
  const at = (name: string): string => join(fixture.folder, name);
  const ruleLines = async (of: Workspace, name: string): Promise<readonly string[]> =>
    (await of.diagnostics(token, at(name))).filter(({ severity }) => severity === 'error').map(({ rule, line }) => `${rule} ${line}`);
  /** What the workspace says now, and that one made afresh says the same. */
  const now = async (name: string): Promise<readonly string[]> => {
    const found = await ruleLines(workspace, name);
    assert.deepEqual(found, await ruleLines(createWorkspace({ cwd: fixture.folder }), name), 'a fresh check says something else');
    return found;
  };

  beforeEach(() => {
    fixture = withPaths([
      { name: 'src/free.ts', text: free },
      { name: 'src/scale.ts', text: scale },
      { name: 'app/main.ts', text: app },
    ]);
    workspace = createWorkspace({ cwd: fixture.folder });
  });
  afterEach(() => fixture.remove());

  it('follows names that `paths` explains, from the caller and from the callee', async () => {
    const alone = (await workspace.functions(token, at('src/scale.ts'))).find(({ name }) => name === 'scale');
    assert.equal(alone?.staticPeakBytes, 2 * 4096, 'the shape that the caller passes is not known');
    assert.deepEqual(await now('app/main.ts'), ['use-after-dispose 8']);
    workspace.setText(at('src/free.ts'), free.replace('x.dispose()', 'void x'));
    assert.deepEqual(await ruleLines(workspace, 'app/main.ts'), []);
    workspace.setText(at('src/free.ts'), undefined);
    assert.deepEqual(await now('app/main.ts'), ['use-after-dispose 8']);
  });

  it('sees a change inside a function of another file in what nobody calls', async () => {
    const unused = `import { np } from 'tidemark';
import { free } from '@/free.ts';
async function helper(): Promise<void> {
  const x = np.zeros([1024]);
  free(x);
  console.log(await x.sum().item());
}
`;
    writeFileSync(at('app/unused.ts'), unused);
    workspace = createWorkspace({ cwd: fixture.folder });
    workspace.setText(at('src/free.ts'), free);
    assert.deepEqual(await now('app/unused.ts'), ['use-after-dispose 6']);
    workspace.setText(at('src/free.ts'), free.replace('x.dispose()', 'void x'));
    assert.deepEqual(await ruleLines(workspace, 'app/unused.ts'), []);
    workspace.setText(at('src/free.ts'), free);
    assert.deepEqual(await now('app/unused.ts'), ['use-after-dispose 6']);
  });

  it('sees files that are renamed, deleted and made again', async () => {
    assert.deepEqual(await now('app/main.ts'), ['use-after-dispose 8']);
    renameSync(at('src/free.ts'), at('src/release.ts'));
    workspace.filesChanged([at('src/free.ts'), at('src/release.ts')]);
    assert.deepEqual(await now('app/main.ts'), []);
    writeFileSync(at('app/main.ts'), app.replace('@/free.ts', '@/release.ts'));
    workspace.filesChanged([at('app/main.ts')]);
    assert.deepEqual(await now('app/main.ts'), ['use-after-dispose 8']);
    rmSync(at('src/release.ts'));
    workspace.filesChanged([at('src/release.ts')]);
    assert.deepEqual(await now('app/main.ts'), []);
    writeFileSync(at('src/release.ts'), free);
    workspace.filesChanged([at('src/release.ts')]);
    assert.deepEqual(await now('app/main.ts'), ['use-after-dispose 8']);
  });

  it('follows tidemark.json and tsconfig.json while files are open', async () => {
    workspace.setText(at('app/main.ts'), app);
    assert.deepEqual(await now('app/main.ts'), ['use-after-dispose 8']);
    writeFileSync(at('tidemark.json'), JSON.stringify({ rules: { 'use-after-dispose': 'off' } }));
    workspace.filesChanged([at('tidemark.json')]);
    assert.deepEqual(await now('app/main.ts'), []);
    rmSync(at('tidemark.json'));
    workspace.filesChanged([at('tidemark.json')]);
    assert.deepEqual(await now('app/main.ts'), ['use-after-dispose 8']);
    const config = readFileSync(at('tsconfig.json'), 'utf8');
    writeFileSync(at('tsconfig.json'), config.replace('./src/*', './elsewhere/*'));
    workspace.filesChanged([at('tsconfig.json')]);
    assert.deepEqual(await now('app/main.ts'), []);
    writeFileSync(at('tsconfig.json'), config);
    workspace.filesChanged([at('tsconfig.json')]);
    assert.deepEqual(await now('app/main.ts'), ['use-after-dispose 8']);
  });

  it('knows every place that names an array, closures and assignments included, and no other of that name', async () => {
    const text = [
      "import { np, scope } from 'tidemark';",
      'let kept = np.zeros([2]);',
      'export function f(): void {',
      '  let x = np.ones([2]);',
      '  const g = () => {',
      '    kept = x.add(x);',
      '  };',
      '  g();',
      '  x = x.mul(2);',
      '  scope(() => {',
      '    const x = 3;',
      '    return x;',
      '  });',
      '}',
      '',
    ].join('\n');
    writeFileSync(at('app/main.ts'), text);
    const places = async (line: number, column: number): Promise<readonly string[] | undefined> =>
      (await workspace.occurrences(token, at('app/main.ts'), { line, column }))?.map(
        ({ start, writes }) => `${start.line}:${start.column}${writes ? ' writes' : ''}`,
      );
    const ofX = ['4:7 writes', '6:12', '6:18', '9:3 writes', '9:7'];
    assert.deepEqual(await places(4, 7), ofX);
    assert.deepEqual(await places(6, 12), ofX);
    assert.deepEqual(await places(9, 7), ofX);
    assert.deepEqual(await places(2, 6), ['2:5 writes', '6:5 writes']);
    assert.equal(await places(11, 11), undefined);
    assert.equal(await places(400, 1), undefined);
  });

  it('lists the functions that make arrays in every dialect, and counts the files it looked at', async () => {
    writeFileSync(
      at('src/buffers.ts'),
      'export function make(device: GPUDevice): GPUBuffer {\n  return device.createBuffer({ size: 4, usage: 1 });\n}\n',
    );
    const report = await createWorkspace({ cwd: fixture.folder }).check(['.']);
    assert.equal(report.files, 4);
    assert.deepEqual(
      report.functions.filter(({ file }) => file === 'src/buffers.ts').map(({ name }) => name),
      ['make'],
    );
  });
});

describe('a project without the library’s declarations', function () {
  this.timeout(0);

  it('knows a model by the function that made it: its `add` is no tensor’s', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-untyped-'));
    try {
      const file = join(folder, 'train.js');
      writeFileSync(
        file,
        `import * as tf from '@tensorflow/tfjs';
export function build(units) {
  const model = tf.sequential();
  model.add(tf.layers.dense({ units }));
  model.compile({ optimizer: tf.train.adam(0.1), loss: 'meanSquaredError' });
  model.dispose();
}
export async function forgets(path) {
  const model = await tf.loadLayersModel(path);
  model.summary();
}
`,
      );
      const found = await createWorkspace({ cwd: folder }).diagnostics(token, file);
      assert.deepEqual(
        found.map(({ rule, line }) => `${rule} ${line}`),
        ['leak 9'],
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
