/**
 * The server as a process of its own, under what editors put it through: several roots, projects that refer to each other,
 * a text typed from nothing, requests that are taken back, files of 20,000 lines, 5,000 files, and being killed.
 *
 * Depends on: cli, vscode-languageserver-protocol, support.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CancellationTokenSource,
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type ProtocolConnection,
} from 'vscode-languageserver-protocol/node';
import { uriOf } from '../../language-server/lsp/convert.ts';
import { checkout, lay, type Fixture } from '../support/fixture.ts';

interface Pushed {
  readonly uri: string;
  readonly version?: number;
  readonly diagnostics: readonly { readonly code?: unknown; readonly range: { readonly start: { readonly line: number } } }[];
}

interface Server {
  readonly client: ProtocolConnection;
  readonly child: ChildProcessWithoutNullStreams;
  readonly open: (file: string, text?: string) => Promise<void>;
  readonly change: (file: string, version: number, text: string) => Promise<void>;
  /** `rule line` of what is pushed for a file at that version, sorted. */
  readonly findings: (file: string, version?: number) => Promise<readonly string[]>;
  readonly stop: () => Promise<void>;
}

async function start(folders: readonly string[]): Promise<Server> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'language-server/cli/main.ts', 'lsp', '--stdio'], { cwd: checkout });
  child.stderr.resume();
  const client = createProtocolConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  const known = new Map<string, Pushed>();
  const waiting = new Set<() => void>();
  client.onNotification('textDocument/publishDiagnostics', (pushed: Pushed) => {
    known.set(pushed.uri, pushed);
    for (const look of waiting) look();
  });
  client.onRequest('workspace/configuration', ({ items }: { readonly items: readonly unknown[] }) => items.map(() => ({})));
  client.onRequest('client/registerCapability', () => null);
  client.onRequest('workspace/codeLens/refresh', () => null);
  client.onRequest('workspace/inlayHint/refresh', () => null);
  client.listen();
  await client.sendRequest('initialize', {
    processId: process.pid,
    rootUri: null,
    workspaceFolders: folders.map((folder, i) => ({ uri: uriOf(folder), name: `root ${i}` })),
    capabilities: { workspace: { configuration: true, workspaceFolders: true } },
    initializationOptions: { trusted: false },
  });
  await client.sendNotification('initialized', {});
  return {
    client,
    child,
    open: (file, text = readFileSync(file, 'utf8')) =>
      client.sendNotification('textDocument/didOpen', { textDocument: { uri: uriOf(file), languageId: 'typescript', version: 1, text } }),
    change: (file, version, text) =>
      client.sendNotification('textDocument/didChange', { textDocument: { uri: uriOf(file), version }, contentChanges: [{ text }] }),
    findings: (file, version = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          const pushed = known.get(uriOf(file));
          if (pushed === undefined || (pushed.version ?? 0) < version) return;
          waiting.delete(look);
          resolve(pushed.diagnostics.map(({ code, range }) => `${String(code)} ${range.start.line + 1}`).sort());
        };
        waiting.add(look);
        look();
      }),
    stop: async () => {
      await client.sendRequest('shutdown');
      await client.sendNotification('exit');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      client.dispose();
    },
  };
}

const leak = `import { np } from 'tidemark';
export function f(): number {
  const x = np.ones([4]);
  return x.size;
}
`;
const free = `import type { Array } from 'tidemark';
export function free(x: Array): void {
  x.dispose();
}
`;
const app = `import { np } from 'tidemark';
import { free } from '../core/free.ts';
export function run(): number {
  const x = np.ones([4]);
  free(x);
  using total = x.sum();
  return total.size;
}
`;

describe('the server as a process', function () {
  this.timeout(300_000);
  let fixtures: Fixture[] = [];
  let server: Server | undefined;
  const laid = (files: readonly { readonly name: string; readonly text: string }[]): Fixture => {
    const fixture = lay(files);
    fixtures.push(fixture);
    return fixture;
  };
  const started = async (...folders: string[]): Promise<Server> => (server = await start(folders));

  afterEach(async () => {
    if (server?.child.exitCode === null && server.child.signalCode === null) await server.stop();
    server = undefined;
    for (const fixture of fixtures) fixture.remove();
    fixtures = [];
  });

  it('answers for each of several roots', async () => {
    const [a, b] = [laid([{ name: 'a.ts', text: leak }]), laid([{ name: 'b.ts', text: leak.replace('const', '\n  const') }])];
    const { open, findings } = await started(a.folder, b.folder);
    await open(a.files[0]!);
    await open(b.files[0]!);
    assert.deepEqual(await findings(a.files[0]!), ['leak 3']);
    assert.deepEqual(await findings(b.files[0]!), ['leak 4']);
  });

  it('follows projects that refer to each other, as `tsc -b` builds them', async () => {
    const { folder } = laid([
      { name: 'core/free.ts', text: free },
      { name: 'app/main.ts', text: app },
    ]);
    const base = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8')) as { compilerOptions: object };
    const project = (references: readonly string[]): string =>
      JSON.stringify({
        compilerOptions: { ...base.compilerOptions, noEmit: false, composite: true, emitDeclarationOnly: true, outDir: 'out' },
        include: ['*.ts', join(checkout, 'test/cases/tidemark.d.ts')],
        references: references.map((path) => ({ path })),
      });
    writeFileSync(join(folder, 'core/tsconfig.json'), project([]));
    writeFileSync(join(folder, 'app/tsconfig.json'), project(['../core']));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ files: [], references: [{ path: 'core' }, { path: 'app' }] }));
    const { open, findings, change } = await started(folder);
    const [main, core] = [join(folder, 'app/main.ts'), join(folder, 'core/free.ts')];
    await open(main);
    assert.deepEqual(await findings(main), ['use-after-dispose 6']);
    await open(core);
    await change(core, 2, free.replace('x.dispose()', 'void x'));
    await change(main, 2, `${app}\n`);
    assert.deepEqual(await findings(main, 2), ['leak 4']);
  });

  it('says the same of a text that was typed from nothing', async () => {
    const { folder } = laid([{ name: 'a.ts', text: '' }]);
    const { open, change, findings } = await started(folder);
    const file = join(folder, 'a.ts');
    await open(file, '');
    for (let length = 1; length <= leak.length; length++) await change(file, 1 + length, leak.slice(0, length));
    assert.deepEqual(await findings(file, 1 + leak.length), ['leak 3']);
  });

  it('takes requests back, and goes on', async () => {
    const { folder } = laid([{ name: 'a.ts', text: leak }]);
    const { client, open, findings } = await started(folder);
    const file = join(folder, 'a.ts');
    await open(file);
    const place = { textDocument: { uri: uriOf(file) }, position: { line: 2, character: 8 } };
    const asked = Array.from({ length: 20 }, () => {
      const source = new CancellationTokenSource();
      const answer = client.sendRequest('textDocument/hover', place, source.token).then(
        () => 'answered',
        (error: { readonly code?: number }) => error.code,
      );
      source.cancel();
      return answer;
    });
    // Whoever was too late to be taken back was answered; nobody was left waiting.
    for (const answer of await Promise.all(asked)) assert.ok(answer === 'answered' || answer === -32800, String(answer));
    assert.deepEqual(await findings(file), ['leak 3']);
    assert.notEqual(await client.sendRequest('textDocument/hover', place), null);
  });

  it('knows again what it knew after it was killed', async () => {
    const { folder } = laid([{ name: 'a.ts', text: '' }]);
    const file = join(folder, 'a.ts');
    const first = await started(folder);
    await first.open(file, leak);
    assert.deepEqual(await first.findings(file), ['leak 3']);
    const gone = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await gone;
    first.client.dispose();
    const { open, findings } = await started(folder);
    await open(file, leak);
    assert.deepEqual(await findings(file), ['leak 3']);
  });

  it('takes a file of 20,000 lines', async () => {
    const functions = Array.from({ length: 5000 }, (_, i) =>
      i % 10 === 0
        ? leak.replace(/^.*\n/, '').replace('f()', `f${i}()`)
        : `export function f${i}(x: number): number {\n  const y = x * ${i};\n  return y + 1;\n}\n`,
    );
    const text = `import { np } from 'tidemark';\n${functions.join('')}`;
    assert.ok(text.split('\n').length > 20_000);
    const { folder } = laid([{ name: 'a.ts', text }]);
    const { open, findings } = await started(folder);
    const file = join(folder, 'a.ts');
    await open(file);
    const found = await findings(file);
    assert.equal(found.length, 500);
  });

  it('takes a project of 5,000 files', async () => {
    const files = Array.from({ length: 5000 }, (_, i) => ({
      name: `src/m${i}.ts`,
      text: `import { free } from './m${Math.max(0, i - 1)}.ts';\nexport const value${i} = ${i};\nexport { free };\n`,
    }));
    files[0] = { name: 'src/m0.ts', text: free };
    const { folder } = laid([...files, { name: 'app/main.ts', text: app.replace('../core/free.ts', '../src/m9.ts') }]);
    const { open, findings } = await started(folder);
    const file = join(folder, 'app/main.ts');
    await open(file);
    assert.deepEqual(await findings(file), ['use-after-dispose 6']);
  });
});
