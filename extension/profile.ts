/**
 * A measured run as the person sees it: started by a click, with progress and Cancel, its output in the channel.
 *
 * Depends on: client, language-server/protocol.
 */
import path from 'node:path';
import * as vscode from 'vscode';
import {
  methods,
  type AllocatorComparison,
  type OutputParams,
  type ProfileOutcome,
  type ProfileParams,
} from '../language-server/protocol.ts';
import type { Client } from './client.ts';

export interface ProfileRequest {
  readonly uri: vscode.Uri;
  readonly function?: string;
  readonly entry?: string;
  /** A page instead of a file. */
  readonly url?: string;
}

export class Profiler implements vscode.Disposable {
  readonly #client: Client;
  readonly #log: vscode.LogOutputChannel;
  readonly #done = new vscode.EventEmitter<ProfileOutcome>();
  readonly #output: vscode.Disposable;
  #cancel: vscode.CancellationTokenSource | undefined;
  #line = { stdout: '', stderr: '' };

  constructor(client: Client, log: vscode.LogOutputChannel) {
    this.#client = client;
    this.#log = log;
    this.#output = client.events.output((line) => this.#print(line));
    // An extension host that was killed in the middle of a run had no time to take it back.
    void vscode.commands.executeCommand('setContext', 'tidemark.running', false);
  }

  readonly onDone: vscode.Event<ProfileOutcome> = this.#done.event;

  /** Runs and measures; undefined when it was refused before the server was asked. */
  run(request: ProfileRequest): Promise<ProfileOutcome | undefined> {
    return this.#alone(request, async (cancel) => {
      const outcome = await this.#withProgress(request, cancel);
      this.#flush();
      this.#done.fire(outcome);
      this.#tell(request, outcome);
      return outcome;
    });
  }

  /** The program once with each allocator. */
  compareAllocators(uri: vscode.Uri): Promise<AllocatorComparison | undefined> {
    return this.#alone({ uri }, async (cancel) => {
      const title = vscode.l10n.t('Comparing allocators on {0}', path.basename(uri.fsPath));
      const compared = await this.#asked<AllocatorComparison | null>(title, methods.compareAllocators, { file: uri.fsPath }, cancel);
      this.#flush();
      return compared ?? undefined;
    });
  }

  async #alone<T>(request: ProfileRequest, body: (cancel: vscode.CancellationTokenSource) => Promise<T>): Promise<T | undefined> {
    if (!vscode.workspace.isTrusted) {
      await this.#offerTrust();
      return undefined;
    }
    if (this.#cancel !== undefined) {
      void vscode.window.showInformationMessage(vscode.l10n.t('A program is being measured already. Wait for it, or cancel it first.'));
      return undefined;
    }
    if (!(await saved(request))) return undefined;
    const cancel = new vscode.CancellationTokenSource();
    this.#cancel = cancel;
    await vscode.commands.executeCommand('setContext', 'tidemark.running', true);
    try {
      return await body(cancel);
    } catch (error) {
      this.#log.error(error instanceof Error ? error : String(error));
      void vscode.window.showErrorMessage(vscode.l10n.t('The measurement ended with the server. See the Tidemark output.'));
      return undefined;
    } finally {
      this.#cancel = undefined;
      cancel.dispose();
      await vscode.commands.executeCommand('setContext', 'tidemark.running', false);
    }
  }

  cancel(): void {
    this.#cancel?.cancel();
  }

  dispose(): void {
    this.#cancel?.cancel();
    this.#output.dispose();
    this.#done.dispose();
  }

  async #withProgress(request: ProfileRequest, cancel: vscode.CancellationTokenSource): Promise<ProfileOutcome> {
    const { uri, function: name, entry, url } = request;
    const params: ProfileParams = {
      file: uri.fsPath,
      ...(url === undefined ? {} : { url }),
      ...(name === undefined ? {} : { function: name }),
      ...(entry === undefined ? {} : { entry }),
    };
    const title = vscode.l10n.t('Measuring {0}', url ?? path.basename(entry ?? uri.fsPath));
    return this.#asked<ProfileOutcome>(title, methods.profile, params, cancel);
  }

  /** What the server is asked to run, with progress, Cancel, and the program's last words in sight. */
  async #asked<T>(title: string, method: string, params: ProfileParams, cancel: vscode.CancellationTokenSource): Promise<T> {
    const client = await this.#client.start();
    this.#log.info(title);
    return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, (progress, token) => {
      token.onCancellationRequested(() => cancel.cancel());
      const last = this.#client.events.output(({ text, stream }) => {
        if (stream !== 'stderr') progress.report({ message: text.trim().split('\n').at(-1)?.slice(0, 80) ?? '' });
      });
      return client.sendRequest<T>(method, params, cancel.token).finally(() => last.dispose());
    });
  }

  #tell({ function: name, uri }: ProfileRequest, { state, message, notReached }: ProfileOutcome): void {
    if (message !== null) this.#log.info(message);
    if (state === 'done' && notReached && name !== undefined) {
      const choose = vscode.l10n.t('Choose What Runs');
      void vscode.window.showInformationMessage(vscode.l10n.t('`{0}` was never called.', name), choose).then((answer) => {
        if (answer === choose) void vscode.commands.executeCommand('tidemark.chooseEntry', uri.toString(), name);
      });
    }
    if (state === 'done' || state === 'cancelled') return;
    const output = vscode.l10n.t('Show Output');
    const choose = vscode.l10n.t('Choose a Node');
    const show = state === 'refused' ? vscode.window.showWarningMessage : vscode.window.showErrorMessage;
    // The whole message stands in the output: a notification has room for its first line.
    const [first] = (message ?? vscode.l10n.t('The program could not be measured.')).split('\n');
    const answers = message?.includes('tidemark.nodePath') === true ? [choose, output] : [output];
    void show(first!, ...answers).then((answer) => {
      if (answer === output) this.#log.show(true);
      if (answer === choose) void vscode.commands.executeCommand('workbench.action.openSettings', 'tidemark.nodePath');
    });
  }

  async #offerTrust(): Promise<void> {
    const trust = vscode.l10n.t('Manage Trust');
    const answer = await vscode.window.showWarningMessage(
      vscode.l10n.t('This workspace is in Restricted Mode: files are analysed, but nothing of it is run.'),
      trust,
    );
    if (answer === trust) await vscode.commands.executeCommand('workbench.trust.manage');
  }

  /** Whole lines only: a log line for half a line of output is hard to read. */
  #print({ stream, text }: OutputParams): void {
    if (stream === 'tidemark') return this.#log.info(text.trimEnd());
    const lines = (this.#line[stream] + text).split('\n');
    this.#line[stream] = lines.pop() ?? '';
    for (const line of lines) this.#log.info(`${stream === 'stderr' ? '! ' : '  '}${line}`);
  }

  #flush(): void {
    for (const stream of ['stdout', 'stderr'] as const) if (this.#line[stream] !== '') this.#print({ stream, text: '\n' });
  }
}

/** The program is run from the disk: what is open and changed is saved first, with the person's editor settings. */
async function saved({ uri }: ProfileRequest): Promise<boolean> {
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  if (document?.isUntitled === true) {
    const kept = await vscode.workspace.saveAs(uri);
    if (kept === undefined) return false;
    void vscode.window.showInformationMessage(vscode.l10n.t('The file was saved. Profile it again from its own tab.'));
    return false;
  }
  if (await vscode.workspace.saveAll(false)) return true;
  void vscode.window.showWarningMessage(vscode.l10n.t('Nothing was run, since a file could not be saved.'));
  return false;
}
