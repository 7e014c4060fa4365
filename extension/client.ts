/**
 * The language client: started when the workspace uses arrays, stopped with the window, restarted on request.
 *
 * Depends on: vscode-languageclient, language-server/protocol.
 */
import * as vscode from 'vscode';
import { LanguageClient, State, TransportKind, type LanguageClientOptions, type ServerOptions } from 'vscode-languageclient/node';
import { commands, methods, type InitializationOptions, type OutputParams, type ServerStatus } from '../language-server/protocol.ts';

/** Files of the workspace, and texts that were never saved. */
export const selector = ['typescript', 'typescriptreact', 'javascript', 'javascriptreact'].flatMap((language) => [
  { language, scheme: 'file' },
  { language, scheme: 'untitled' },
]);

export interface ClientEvents {
  readonly status: vscode.Event<ServerStatus>;
  readonly marksChanged: vscode.Event<void>;
  readonly output: vscode.Event<OutputParams>;
}

export class Client implements vscode.Disposable {
  readonly #context: vscode.ExtensionContext;
  readonly #log: vscode.LogOutputChannel;
  readonly #status = new vscode.EventEmitter<ServerStatus>();
  readonly #marksChanged = new vscode.EventEmitter<void>();
  readonly #output = new vscode.EventEmitter<OutputParams>();
  #client: LanguageClient | undefined;
  #starting: Promise<LanguageClient> | undefined;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    this.#context = context;
    this.#log = log;
  }

  readonly events: ClientEvents = { status: this.#status.event, marksChanged: this.#marksChanged.event, output: this.#output.event };

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
    await client.start();
    return client;
  }
}
