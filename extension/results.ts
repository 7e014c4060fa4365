/**
 * The last run and the one before: shown as a timeline, compared, exported; and a program under each allocator.
 *
 * Depends on: profile, compare, allocators, timeline/panel.
 */
import path from 'node:path';
import * as vscode from 'vscode';
import { methods, type AllocatorComparison, type KeptRun, type ProfileOutcome } from '../language-server/protocol.ts';
import { allocatorsText } from './allocators.ts';
import type { Client } from './client.ts';
import { comparison, type Run } from './compare.ts';
import type { Profiler } from './profile.ts';
import { seekInTimeline, viewType, type Sought } from './timeline/panel.ts';

const scheme = 'tidemark-compare';
const allocatorsScheme = 'tidemark-allocators';

export class Results implements vscode.Disposable {
  readonly #profiler: Profiler;
  readonly #disposables: vscode.Disposable[];
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  #runs: readonly Run[] = [];
  #profileFile: string | undefined;
  #allocators: AllocatorComparison | undefined;

  constructor(client: Client, profiler: Profiler) {
    this.#profiler = profiler;
    this.#disposables = [
      this.#changed,
      client.events.started(() => void this.#restore(client)),
      profiler.onDone((outcome) => this.#keep(outcome)),
      vscode.workspace.registerTextDocumentContentProvider(scheme, {
        onDidChange: this.#changed.event,
        provideTextDocumentContent: () => this.#comparison(),
      }),
      vscode.workspace.registerTextDocumentContentProvider(allocatorsScheme, {
        onDidChange: this.#changed.event,
        provideTextDocumentContent: () => (this.#allocators === undefined ? '' : allocatorsText(this.#allocators)),
      }),
    ];
  }

  /** Beside the source, so that a click in the timeline finds it in view; with a line given, where that line held most. */
  async showTimeline(line?: Sought): Promise<void> {
    if (this.#profileFile === undefined) return this.#nothingYet();
    const profile = vscode.Uri.file(this.#profileFile);
    if (line !== undefined) seekInTimeline(profile, line);
    const open = vscode.window.tabGroups.all.find(({ tabs }) =>
      tabs.some(({ input }) => input instanceof vscode.TabInputCustom && input.uri.toString() === profile.toString()),
    );
    await vscode.commands.executeCommand('vscode.openWith', profile, viewType, {
      viewColumn: open?.viewColumn ?? vscode.ViewColumn.Beside,
      preserveFocus: false,
    });
  }

  async compareWithPrevious(): Promise<void> {
    if (this.#runs.length < 2) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t('Two runs are compared, and there was one. Change the program and profile it again.'),
      );
      return;
    }
    await this.#show(vscode.Uri.from({ scheme, path: vscode.l10n.t('Before and after') }));
  }

  async compareAllocators(uri: vscode.Uri): Promise<void> {
    const compared = await this.#profiler.compareAllocators(uri);
    if (compared === undefined) return;
    if (compared.message !== null) void vscode.window.showWarningMessage(compared.message);
    if (compared.runs.length === 0) return;
    this.#allocators = compared;
    await this.#show(vscode.Uri.from({ scheme: allocatorsScheme, path: vscode.l10n.t('Allocators side by side') }));
  }

  async #show(uri: vscode.Uri): Promise<void> {
    this.#changed.fire(uri);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), {
      viewColumn: vscode.ViewColumn.Beside,
      preview: true,
    });
  }

  async exportProfile(): Promise<void> {
    const last = this.#runs.at(-1);
    if (this.#profileFile === undefined || last === undefined) return this.#nothingYet();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const name = `${path.basename(last.report.entry).replace(/\.[^.]+$/, '')}.tidemark`;
    const target = await vscode.window.showSaveDialog({
      ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
      filters: { [vscode.l10n.t('Tidemark profile')]: ['tidemark'], [vscode.l10n.t('Report only')]: ['json'] },
    });
    if (target === undefined) return;
    if (target.path.endsWith('.json'))
      await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(`${JSON.stringify(last.report, undefined, 2)}\n`));
    else await vscode.workspace.fs.copy(vscode.Uri.file(this.#profileFile), target, { overwrite: true });
  }

  dispose(): void {
    for (const one of this.#disposables) one.dispose();
  }

  #keep({ report, profileFile }: ProfileOutcome): void {
    if (report === null) return;
    this.#runs = [...this.#runs.slice(-1), { report, endedAt: new Date() }];
    this.#profileFile = profileFile ?? undefined;
    void vscode.commands.executeCommand('setContext', 'tidemark.comparable', this.#runs.length === 2);
  }

  /** Runs from before the window was closed or the extension ended. */
  async #restore(client: Client): Promise<void> {
    const kept = await (await client.start()).sendRequest<readonly KeptRun[]>(methods.keptRuns).catch(() => []);
    if (this.#runs.length > 0 || kept.length === 0) return;
    this.#runs = kept.map(({ report, endedAt }) => ({ report, endedAt: new Date(endedAt) })).reverse();
    this.#profileFile = kept[0]!.profileFile ?? undefined;
  }

  #comparison(): string {
    const [before, after] = this.#runs;
    return before === undefined || after === undefined ? '' : comparison(before, after);
  }

  #nothingYet(): void {
    void vscode.window.showInformationMessage(
      vscode.l10n.t('Nothing was measured yet. Click `▶ Profile memory` above a file or function.'),
    );
  }
}
