/**
 * The language server: which requests there are, and which function answers each.
 *
 * Every answer is guarded: a fault in one feature is logged and answered with nothing, and never ends the server.
 * Depends on: all of lsp, vscode-languageserver.
 */
import {
  CodeActionKind,
  DidChangeConfigurationNotification,
  TextDocuments,
  TextDocumentSyncKind,
  type CancellationToken,
  type Connection,
  type InitializeParams,
  type InitializeResult,
} from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import {
  explainScheme,
  methods,
  type AllocatorComparison,
  type InitializationOptions,
  type Life,
  type LifeParams,
  type Marks,
  type MarksParams,
  type ProfileOutcome,
  type ProfileParams,
  type ServerSettings,
  type ServerStatus,
  type SupportFacts,
} from '../protocol.ts';
import { fixAllKind, serveFixes } from './code-actions.ts';
import { lenses } from './code-lens.ts';
import { fileOf, fromPosition, toDiagnostic, uriOf } from './convert.ts';
import { explainText, readExplainUri } from './explain-document.ts';
import { serveHighlights } from './highlights.ts';
import { hover } from './hover.ts';
import { hints } from './inlay-hints.ts';
import { forgetRuns, keptRuns, lastMeasurement } from './last-run.ts';
import { marks } from './marks.ts';
import { createRuns, type Runs } from './runs.ts';
import { Cancellation, Session } from './session.ts';
import type { Sources } from './sources.ts';
import { soon, tokenOf } from './tokens.ts';

interface Client {
  readonly configuration: boolean;
  readonly folders: boolean;
  readonly dynamicConfiguration: boolean;
  readonly watchedFiles: boolean;
  readonly refresh: boolean;
  /** Fetches the edit of a fix when it is chosen. */
  readonly lazyEdits: boolean;
  /** Asks for documents by address, and again when told that they changed. */
  readonly contents: boolean;
}

export function serve(connection: Connection, sources: Sources): void {
  const documents = new TextDocuments(TextDocument);
  let client: Client = {
    configuration: false,
    folders: false,
    dynamicConfiguration: false,
    watchedFiles: false,
    refresh: false,
    lazyEdits: false,
    contents: false,
  };
  let options: InitializationOptions = { trusted: false };
  let trusted = false;
  let busy = false;
  let refreshing: NodeJS.Timeout | undefined;
  let runs: Runs | undefined;
  const cancelled = new Cancellation();
  /** Documents that were asked for, as long as their file is open. */
  const explained = new Set<string>();

  const session = new Session(sources, {
    findings: (uri, version, diagnostics) =>
      tell(() => connection.sendDiagnostics({ uri, version, diagnostics: diagnostics.map(toDiagnostic) })),
    refresh: () => {
      // One refresh for a burst of changes: it makes the editor ask again for every visible file.
      clearTimeout(refreshing);
      refreshing = setTimeout(refresh, 100);
    },
    busy: (now) => {
      busy = now;
      sendStatus();
    },
    fault: (where, error) =>
      connection.console.error(`internal: ${where}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
  });

  /** To a client that may be gone: what can no longer be said is no fault. */
  function tell(send: () => Promise<unknown>): void {
    if (cancelled.isCancelled) return;
    try {
      send().catch(() => undefined);
    } catch {
      cancelled.cancel();
    }
  }

  function refresh(): void {
    if (client.refresh) {
      tell(() => connection.sendRequest('workspace/inlayHint/refresh'));
      tell(() => connection.sendRequest('workspace/codeLens/refresh'));
    }
    // Documents that explain follow the text while it is edited.
    if (client.contents) for (const uri of explained) tell(() => connection.sendRequest('workspace/textDocumentContent/refresh', { uri }));
    tell(() => connection.sendNotification(methods.marksChanged));
    sendStatus();
  }

  function sendStatus(): void {
    const { report, resolve } = session.measurement ?? {};
    const peakFile = report?.peakAt?.file ?? report?.entry ?? null;
    const status: ServerStatus = {
      busy,
      findings: session.findings,
      peakBytes: report?.peakBytes ?? null,
      peakFile,
      peakPath: peakFile === null || resolve === undefined || /^https?:/.test(peakFile) ? null : resolve(peakFile),
      stale: report !== undefined && session.stale,
    };
    tell(() => connection.sendNotification(methods.status, status));
  }

  async function guarded<T>(where: string, otherwise: T, answer: () => T | Promise<T>): Promise<T> {
    try {
      return await answer();
    } catch (error) {
      connection.console.error(`internal: ${where}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      return otherwise;
    }
  }

  connection.onInitialize((params): InitializeResult => {
    options = optionsOf(params);
    trusted = options.trusted;
    client = clientOf(params);
    session.setFolders((params.workspaceFolders ?? []).map(({ uri }) => fileOf(uri)));
    session.setSettings(undefined, options.settings ?? {});
    runs = createRuns({
      session,
      sources,
      trusted: () => trusted,
      storage: options.storage,
      output: (line) => tell(() => connection.sendNotification(methods.output, line)),
    });
    return {
      serverInfo: { name: 'tidemark' },
      capabilities: {
        textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
        hoverProvider: true,
        codeLensProvider: { resolveProvider: false },
        inlayHintProvider: { resolveProvider: false },
        codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix, fixAllKind], resolveProvider: true },
        documentHighlightProvider: true,
        workspace: {
          workspaceFolders: { supported: true, changeNotifications: true },
          textDocumentContent: { schemes: [explainScheme] },
        },
      },
    };
  });

  connection.onInitialized(() => {
    void guarded('kept run', undefined, restore);
    if (client.dynamicConfiguration)
      tell(() => connection.client.register(DidChangeConfigurationNotification.type, { section: 'tidemark' }));
    void pullSettings();
    if (client.watchedFiles) {
      tell(() =>
        connection.sendRequest('client/registerCapability', {
          registrations: [
            {
              id: 'tidemark-files',
              method: 'workspace/didChangeWatchedFiles',
              registerOptions: {
                watchers: [
                  { globPattern: '**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}' },
                  { globPattern: '**/{tsconfig*.json,package.json,tidemark.json}' },
                ],
              },
            },
          ],
        }),
      );
    }
    if (!client.folders) return sendStatus();
    connection.workspace.onDidChangeWorkspaceFolders(async () => {
      const folders = await connection.workspace.getWorkspaceFolders();
      session.setFolders((folders ?? []).map(({ uri }) => fileOf(uri)));
    });
    sendStatus();
  });

  /** Numbers of the last run, as they were before the server ended. */
  async function restore(): Promise<void> {
    const kept = options.storage === undefined ? undefined : await lastMeasurement(options.storage);
    if (kept !== undefined && session.measurement === undefined) session.setMeasurement(kept, new Set());
  }

  async function pullSettings(folders?: readonly string[]): Promise<void> {
    if (!client.configuration) return;
    await guarded('settings', undefined, async () => {
      const open = folders ?? [...new Set(session.openFiles.map((file) => session.folderOf(file)))];
      const all = (await connection.workspace.getConfiguration([
        { section: 'tidemark' },
        ...open.map((folder) => ({ section: 'tidemark', scopeUri: uriOf(folder) })),
      ])) as readonly (ServerSettings | null)[];
      if (folders === undefined) session.setSettings(undefined, all[0] ?? {});
      open.forEach((folder, index) => session.setSettings(folder, all[index + 1] ?? {}));
    });
  }

  connection.onDidChangeConfiguration(({ settings }) => {
    if (client.configuration) void pullSettings();
    else session.setSettings(undefined, ((settings as { tidemark?: ServerSettings } | null)?.tidemark ?? {}) as ServerSettings);
  });

  const askedFor = new Set<string>();
  documents.onDidOpen(({ document }) => {
    const folder = session.folderOf(fileOf(document.uri));
    if (!askedFor.has(folder)) {
      askedFor.add(folder);
      void pullSettings([folder]);
    }
    session.open(document);
  });
  documents.onDidChangeContent(({ document }) => {
    session.change(document);
    if (session.measurement !== undefined) tell(() => connection.sendNotification(methods.marksChanged));
  });
  documents.onDidClose(({ document }) => {
    session.close(document.uri);
    for (const uri of explained) if (readExplainUri(uri)?.target.file === fileOf(document.uri)) explained.delete(uri);
  });
  connection.onDidChangeWatchedFiles(({ changes }) => session.filesChanged(changes.map(({ uri }) => fileOf(uri))));

  connection.onCodeLens(({ textDocument }) =>
    guarded('lenses', [], () => {
      const view = session.view(textDocument.uri);
      return (view === undefined ? [] : lenses(view)).map((lens) => ({
        range: { start: { line: lens.line - 1, character: 0 }, end: { line: lens.line - 1, character: 0 } },
        command: {
          title: lens.title,
          command: lens.command,
          arguments: [...lens.arguments],
          ...(lens.tooltip === undefined ? {} : { tooltip: lens.tooltip }),
        },
      }));
    }),
  );

  connection.languages.inlayHint.on(({ textDocument, range }) =>
    guarded('hints', [], () => {
      const view = session.view(textDocument.uri);
      const shown = view === undefined ? [] : hints(view, { first: range.start.line + 1, last: range.end.line + 1 });
      return shown.map(({ line, column, label, tooltip }) => ({
        position: { line: line - 1, character: column - 1 },
        label,
        paddingLeft: true,
        tooltip: { kind: 'markdown' as const, value: tooltip },
      }));
    }),
  );

  serveFixes(connection, session, guarded, () => client.lazyEdits);
  serveHighlights(connection, session, guarded);

  connection.onHover(({ textDocument, position }, token) =>
    guarded('hover', null, async () => {
      const view = session.view(textDocument.uri);
      const place = fromPosition(position);
      const asked = session.ask(textDocument.uri, (analysis, file) => analysis.hover(tokenOf(token), file, place));
      const known = await soon(
        asked.catch(() => undefined),
        () => undefined,
      );
      const value = view === undefined ? undefined : hover(view, place, known, { now: sources.now(), links: options.links === true });
      return value === undefined ? null : { contents: { kind: 'markdown' as const, value } };
    }),
  );

  connection.onRequest(methods.marks, ({ uri }: MarksParams) =>
    guarded<Marks | null>('marks', null, () => {
      const view = session.view(uri);
      return view === undefined ? null : { uri, version: view.version, marks: marks(view) };
    }),
  );

  connection.onRequest(methods.life, ({ uri, version, position }: LifeParams, token: CancellationToken) =>
    guarded<Life | null>('life', null, async () => {
      const life = await session.ask(uri, (analysis, file) => analysis.life(tokenOf(token), file, position));
      return life === undefined || session.view(uri)?.version !== version ? null : { uri, version, ...life };
    }),
  );

  connection.onRequest('workspace/textDocumentContent', ({ uri }: { readonly uri: string }, token: CancellationToken) =>
    guarded('explain', { text: '' }, async () => {
      const asked = readExplainUri(uri);
      if (asked === undefined) return { text: '' };
      const { file, function: name, line } = asked.target;
      explained.add(uri);
      const explanation = await session.askOfFile(file, (analysis, at) => analysis.explain(tokenOf(token), at, { name, line }));
      return { text: explainText(asked, explanation, session.measurement) };
    }),
  );

  connection.onRequest(methods.profile, async (params: ProfileParams, token: CancellationToken): Promise<ProfileOutcome> => {
    const own = tokenOf(token);
    const both = new Cancellation();
    own.onCancel(() => both.cancel());
    cancelled.onCancel(() => both.cancel());
    return guarded<ProfileOutcome>(
      'profile',
      {
        state: 'failed',
        message: 'the measurement failed inside Tidemark; see the output channel',
        report: null,
        profileFile: null,
        notReached: false,
      },
      () => runs!.run(params, both),
    );
  });

  connection.onRequest(
    methods.compareAllocators,
    async (params: ProfileParams, token: CancellationToken): Promise<AllocatorComparison | null> => {
      const both = new Cancellation();
      tokenOf(token).onCancel(() => both.cancel());
      cancelled.onCancel(() => both.cancel());
      return guarded<AllocatorComparison | null>('allocators', null, () => runs!.compareAllocators(params, both));
    },
  );

  connection.onNotification(methods.trust, () => {
    trusted = true;
  });
  connection.onNotification(methods.clear, () => {
    session.setMeasurement(undefined, new Set());
    if (options.storage !== undefined) void guarded('clear', undefined, () => forgetRuns(options.storage!));
  });
  connection.onRequest(methods.keptRuns, () =>
    guarded('kept runs', [], () => (options.storage === undefined ? [] : keptRuns(options.storage))),
  );
  connection.onRequest(methods.support, (): SupportFacts => {
    const { heapUsed, rss } = process.memoryUsage();
    return {
      node: process.version,
      platform: `${process.platform}-${process.arch}`,
      openFiles: session.openFiles.length,
      findings: session.findings,
      heapBytes: heapUsed,
      residentBytes: rss,
      trusted,
      measured: session.measurement !== undefined,
    };
  });

  connection.onShutdown(() => {
    cancelled.cancel();
    clearTimeout(refreshing);
    session.dispose();
  });
  connection.onExit(() => cancelled.cancel());

  documents.listen(connection);
  connection.listen();
}

function clientOf({ capabilities: { workspace, textDocument } }: InitializeParams): Client {
  return {
    configuration: workspace?.configuration === true,
    folders: workspace?.workspaceFolders === true,
    dynamicConfiguration: workspace?.didChangeConfiguration?.dynamicRegistration === true,
    watchedFiles: workspace?.didChangeWatchedFiles?.dynamicRegistration === true,
    lazyEdits:
      textDocument?.codeAction?.resolveSupport?.properties.includes('edit') === true && textDocument.codeAction.dataSupport === true,
    refresh: workspace?.codeLens?.refreshSupport === true && workspace.inlayHint?.refreshSupport === true,
    contents: workspace?.textDocumentContent !== undefined,
  };
}

/** A client that says nothing gets analysis only. */
function optionsOf({ initializationOptions }: InitializeParams): InitializationOptions {
  const given = (initializationOptions ?? {}) as Partial<InitializationOptions>;
  return {
    trusted: given.trusted === true,
    links: given.links === true,
    ...(typeof given.storage === 'string' ? { storage: given.storage } : {}),
    ...(given.settings === undefined ? {} : { settings: given.settings }),
  };
}
