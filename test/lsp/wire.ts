/**
 * A client on the other end of a server that runs in this process, with analysis and measurement put in by the test.
 *
 * Depends on: language-server/lsp, vscode-languageserver.
 */
import { PassThrough } from 'node:stream';
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type ProtocolConnection,
} from 'vscode-languageserver-protocol/node';
import { createConnection } from 'vscode-languageserver/node';
import { serve } from '../../language-server/lsp/server.ts';
import type { Analysis, Measure, Sources } from '../../language-server/lsp/sources.ts';
import type { Diagnostic, FunctionFact, ProfileReport } from '../../language-server/protocol.ts';
import { uriOf } from '../../language-server/lsp/convert.ts';

export interface Wire {
  readonly client: ProtocolConnection;
  readonly open: (file: string, text: string) => Promise<void>;
  readonly change: (file: string, version: number, text: string) => Promise<void>;
  /** The next findings pushed for a file at that version or later. */
  readonly findings: (file: string, version: number) => Promise<readonly { readonly message: string; readonly code?: unknown }[]>;
  readonly close: () => Promise<void>;
}

export interface WireOptions {
  readonly analysis?: Partial<Analysis>;
  readonly measure?: Measure;
  readonly trusted?: boolean;
  readonly settings?: object;
  /** What the client can do with documents, beyond the least. */
  readonly textDocument?: object;
  /** Where runs are kept. */
  readonly storage?: string;
  readonly folder: string;
}

export async function wire({
  analysis,
  measure,
  trusted = true,
  settings = {},
  folder,
  storage,
  textDocument = {},
}: WireOptions): Promise<Wire> {
  const toServer = new PassThrough();
  const toClient = new PassThrough();
  const sources: Sources = {
    analysis: async () => ({ ...nothingKnown, ...analysis }),
    measure: async () => measure ?? (() => Promise.reject(new Error('this test measures nothing'))),
    now: () => 1_000_000,
  };
  serve(createConnection(new StreamMessageReader(toServer), new StreamMessageWriter(toClient)), sources);
  const client = createProtocolConnection(new StreamMessageReader(toClient), new StreamMessageWriter(toServer));

  const pushed = new Map<string, { version: number; diagnostics: { message: string; code?: unknown }[] }>();
  const waiting: { uri: string; version: number; tell: (diagnostics: { message: string; code?: unknown }[]) => void }[] = [];
  client.onNotification(
    'textDocument/publishDiagnostics',
    (params: { uri: string; version: number; diagnostics: { message: string }[] }) => {
      pushed.set(params.uri, params);
      for (const one of waiting.filter(({ uri, version }) => uri === params.uri && version <= params.version)) {
        waiting.splice(waiting.indexOf(one), 1);
        one.tell(params.diagnostics);
      }
    },
  );
  client.onRequest('workspace/configuration', ({ items }: { items: unknown[] }) => items.map(() => settings));
  client.onRequest('client/registerCapability', () => null);
  client.onRequest('workspace/codeLens/refresh', () => null);
  client.onRequest('workspace/inlayHint/refresh', () => null);
  client.listen();
  await client.sendRequest('initialize', {
    processId: null,
    rootUri: null,
    workspaceFolders: [{ uri: uriOf(folder), name: 'test' }],
    capabilities: {
      textDocument,
      workspace: {
        configuration: true,
        codeLens: { refreshSupport: true },
        inlayHint: { refreshSupport: true },
        didChangeWatchedFiles: { dynamicRegistration: true },
      },
    },
    initializationOptions: { trusted, ...(storage === undefined ? {} : { storage }) },
  });
  await client.sendNotification('initialized', {});
  return {
    client,
    open: (file, text) =>
      client.sendNotification('textDocument/didOpen', { textDocument: { uri: uriOf(file), languageId: 'typescript', version: 1, text } }),
    change: (file, version, text) =>
      client.sendNotification('textDocument/didChange', { textDocument: { uri: uriOf(file), version }, contentChanges: [{ text }] }),
    findings: (file, version) =>
      new Promise((resolve) => {
        const uri = uriOf(file);
        const known = pushed.get(uri);
        if (known !== undefined && known.version >= version) resolve(known.diagnostics);
        else waiting.push({ uri, version, tell: resolve });
      }),
    close: async () => {
      await client.sendRequest('shutdown');
      await new Promise((resolve) => setImmediate(resolve));
      client.dispose();
      toServer.destroy();
      toClient.destroy();
    },
  };
}

const nothingKnown: Analysis = {
  setText: () => undefined,
  filesChanged: () => undefined,
  setSettings: () => undefined,
  diagnostics: () => Promise.resolve([]),
  functions: () => Promise.resolve([]),
  hover: () => Promise.resolve(undefined),
  life: () => Promise.resolve(undefined),
  occurrences: () => Promise.resolve(undefined),
  explain: () => Promise.resolve(undefined),
};

/** A finding of one word on one line. */
export function finding(file: string, line: number, column: number, more: Partial<Diagnostic> = {}): Diagnostic {
  return {
    file,
    line,
    column,
    endLine: line,
    endColumn: column + 4,
    rule: 'leak',
    severity: 'warning',
    message: '`x` was never disposed',
    savesBytes: null,
    related: [],
    fixes: [],
    ...more,
  };
}

export const fact = (file: string, name: string, line: number, more: Partial<FunctionFact> = {}): FunctionFact => ({
  file,
  name,
  line,
  staticPeakBytes: null,
  staticPeak: null,
  ...more,
});

const mebibyte = 2 ** 20;

/** What a run of `train.ts` below measured: 4 MiB made on line 3 within `step`, and the peak there. */
export function report(more: Partial<ProfileReport> = {}): ProfileReport {
  return {
    version: 1,
    entry: 'train.ts',
    device: { kind: 'cpu', adapter: 'none', software: false },
    peakBytes: 12 * mebibyte,
    peakReservedBytes: 16 * mebibyte,
    liveBytesAtExit: 0,
    peakAt: { file: 'train.ts', line: 3, column: 10 },
    lines: [
      {
        file: 'train.ts',
        line: 3,
        allocations: 2,
        allocatedBytes: 8 * mebibyte,
        peakLiveBytes: 4 * mebibyte,
        liveBytesAtPeak: 4 * mebibyte,
        inUseBytes: 12 * mebibyte,
      },
    ],
    functions: [{ file: 'train.ts', name: 'step', line: 2, calls: 2, peakBytes: 12 * mebibyte, enteredBytes: 8 * mebibyte, jit: null }],
    liveAtPeak: [{ bytes: 4 * mebibyte, shape: [1024, 1024], dtype: 'float32', kind: 'array', file: 'train.ts', line: 3 }],
    leaks: [],
    wallMs: 10,
    exitCode: 0,
    ...more,
  };
}

export const program = [
  "import { np } from 'tidemark';",
  'export function step(x: np.Array) {',
  '  return np.add(x, x);',
  '}',
  'const start = np.zeros([1024, 1024]);',
  'step(start);',
  'step(start);',
  '',
].join('\n');
