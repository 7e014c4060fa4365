/**
 * `tidemark lsp --stdio` for any editor: a client of a few lines, that knows nothing of ours, gets findings and fixes over a pipe.
 *
 * Depends on: cli.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..', '..');

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

/** The base protocol: a header with the length, and JSON. */
function speak(server: ChildProcessWithoutNullStreams) {
  const heard: Message[] = [];
  const waiting: { readonly is: (message: Message) => boolean; readonly take: (message: Message) => void }[] = [];
  let bytes = Buffer.alloc(0);
  let ids = 0;
  const write = (message: object): void => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    server.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    server.stdin.write(body);
  };
  server.stdout.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const head = bytes.indexOf('\r\n\r\n');
      const length = Number(/Content-Length: (\d+)/.exec(bytes.subarray(0, head).toString())?.[1]);
      if (head === -1 || bytes.length < head + 4 + length) return;
      const message = JSON.parse(bytes.subarray(head + 4, head + 4 + length).toString('utf8')) as Message;
      bytes = bytes.subarray(head + 4 + length);
      // A client that offers nothing answers all that it is asked with nothing.
      if (message.id !== undefined && message.method !== undefined) write({ id: message.id, result: null });
      heard.push(message);
      for (const one of waiting) if (one.is(message)) one.take(message);
    }
  });
  const next = (is: (message: Message) => boolean): Promise<Message> =>
    new Promise((take) => {
      const known = heard.find(is);
      if (known === undefined) waiting.push({ is, take });
      else take(known);
    });
  return {
    tell: (method: string, params: object) => write({ method, params }),
    next,
    async ask(method: string, params: object | null): Promise<unknown> {
      const id = (ids += 1);
      write({ id, method, ...(params === null ? {} : { params }) });
      return (await next((message) => message.id === id && message.method === undefined)).result;
    },
  };
}

const program = `import * as tf from '@tensorflow/tfjs';
export function loss(): number {
  const x = tf.ones([8, 8]);
  return x.size;
}
`;

describe('another editor', function () {
  this.timeout(120_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-editor-'));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(
      join(folder, 'tsconfig.json'),
      readFileSync(join(root, 'tsconfig.json'), 'utf8')
        .replace(/"(include|exclude)": \[.*\],?/g, '')
        .replace(/,\s*}/, '}'),
    );
    writeFileSync(join(folder, 'loss.ts'), program);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('opens a file, is told of its leak, asks for a fix, and ends the server in order', async () => {
    const tsx = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;
    const server = spawn(process.execPath, ['--import', tsx, join(root, 'language-server/cli/main.ts'), 'lsp', '--stdio'], { cwd: folder });
    const ended = new Promise<number | null>((done) => server.once('exit', done));
    const client = speak(server);
    const uri = pathToFileURL(join(folder, 'loss.ts')).href;
    const started = (await client.ask('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: {},
    })) as { capabilities: { codeActionProvider?: unknown; hoverProvider?: unknown } };
    assert.ok(started.capabilities.codeActionProvider);
    assert.ok(started.capabilities.hoverProvider);
    client.tell('initialized', {});
    client.tell('textDocument/didOpen', { textDocument: { uri, languageId: 'typescript', version: 1, text: program } });
    const pushed = await client.next(({ method, params }) => {
      if (method !== 'textDocument/publishDiagnostics') return false;
      return (params as { diagnostics: readonly unknown[] }).diagnostics.length > 0;
    });
    const { diagnostics } = pushed.params as { diagnostics: { code: string; range: { start: { line: number } } }[] };
    assert.deepEqual(
      diagnostics.map(({ code, range }) => [code, range.start.line]),
      [['leak', 2]],
    );
    const [finding] = diagnostics;
    const fixes = (await client.ask('textDocument/codeAction', {
      textDocument: { uri },
      range: finding!.range,
      context: { diagnostics },
    })) as { title: string }[];
    assert.ok(fixes.length > 0, 'a fix is offered');
    await client.ask('shutdown', null);
    client.tell('exit', {});
    assert.equal(await ended, 0);
  });
});
