/**
 * The language client: started when the workspace uses arrays, stopped with the window, restarted on request.
 *
 * Depends on: vscode-languageclient, language-server/protocol.
 */
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  State,
  TransportKind,
  type CloseHandlerResult,
  type LanguageClientOptions,
  type ServerOptions,
} from 'vscode-languageclient/node';
import { commands, methods, type InitializationOptions, type OutputParams, type ServerStatus } from '../language-server/protocol.ts';

/** So many ends within this time, and the server is left alone. */
const mostEnds = 4;
const spellMs = 180_000;

/** Files of the workspace, and texts that were never saved. */
export const selector = ['typescript', 'typescriptreact', 'javascript', 'javascriptreact'].flatMap((language) => [
  { language, scheme: 'file' },
  { language, scheme: 'untitled' },
]);

export interface ClientEvents {
  readonly status: vscode.Event<ServerStatus>;
  readonly marksChanged: vscode.Event<void>;
  readonly output: vscode.Event<OutputParams>;
  /** The server runs: for the first time, or again. */
  readonly started: vscode.Event<void>;
}

export class Client implements vscode.Disposable {
  readonly #context: vscode.ExtensionContext;
  readonly #log: vscode.LogOutputChannel;
  readonly #status = new vscode.EventEmitter<ServerStatus>();
  readonly #marksChanged = new vscode.EventEmitter<void>();
  readonly #output = new vscode.EventEmitter<OutputParams>();
  readonly #started = new vscode.EventEmitter<void>();
  /** When the server ended by itself, in milliseconds. */
  #ends: readonly number[] = [];
  #told = false;
  #client: LanguageClient | undefined;
  #starting: Promise<LanguageClient> | undefined;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    this.#context = context;
    this.#log = log;
  }

  readonly events: ClientEvents = {
    status: this.#status.event,
    marksChanged: this.#marksChanged.event,
    output: this.#output.event,
    started: this.#started.event,
  };

  get isRunning(): boolean {
    return this.#client?.state === State.Running;
  }

  /** The running client; starts it when there is none. */
  start(): Promise<LanguageClient> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#starting = undefined;
    await client?.dispose();
  }

  dispose(): void {
    void this.stop();
  }

  async #start(): Promise<LanguageClient> {
    const module = this.#context.asAbsolutePath('dist/server.js');
    const run = { module, transport: TransportKind.ipc, options: { execArgv: [] } };
    const server: ServerOptions = { run, debug: { ...run, options: { execArgv: ['--nolazy', '--inspect=6011'] } } };
    const storage = (this.#context.storageUri ?? this.#context.globalStorageUri).fsPath;
    const initializationOptions: InitializationOptions = {
      trusted: vscode.workspace.isTrusted,
      links: true,
      storage,
    };
    const options: LanguageClientOptions = {
      documentSelector: selector,
      outputChannel: this.#log,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => this.#closed(),
      },
      initializationOptions,
      markdown: { isTrusted: { enabledCommands: [commands.explain, commands.showTimeline] } },
      initializationFailedHandler: (error) => {
        this.#log.error(error instanceof Error ? error : String(error));
        return false;
      },
    };
    const client = new LanguageClient('tidemark', 'Tidemark', server, options);
    this.#client = client;
    client.onNotification(methods.status, (status: ServerStatus) => this.#status.fire(status));
    client.onNotification(methods.marksChanged, () => this.#marksChanged.fire());
    client.onNotification(methods.output, (line: OutputParams) => this.#output.fire(line));
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) this.#started.fire();
    });
    await client.start();
    return client;
  }

  /** The server ended by itself: it is started again, and the person is told once, not each time. */
  #closed(): CloseHandlerResult {
    const now = Date.now();
    this.#ends = [...this.#ends.filter((at) => now - at < spellMs), now];
    const output = vscode.l10n.t('Show Output');
    const offer = (text: string, ...more: readonly string[]): void => {
      void vscode.window.showWarningMessage(text, ...more, output).then((answer) => {
        if (answer === output) this.#log.show(true);
        else if (answer !== undefined) void this.restart();
      });
    };
    if (this.#ends.length > mostEnds) {
      this.#client = undefined;
      this.#starting = undefined;
      offer(
        vscode.l10n.t('The Tidemark server ended {0} times in a row and is not started again.', this.#ends.length),
        vscode.l10n.t('Restart Server'),
      );
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    this.#log.warn('the server ended and is started again');
    if (!this.#told) offer(vscode.l10n.t('The Tidemark server ended unexpectedly and was started again. Measured numbers are kept.'));
    this.#told = true;
    return { action: CloseAction.Restart, handled: true };
  }
}
