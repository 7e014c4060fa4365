/**
 * The last run and the one before: shown as a timeline, compared, exported; and a program under each allocator.
 *
 * Depends on: profile, compare, allocators, line-links, timeline/panel.
 */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import { methods, type KeptRun, type ProfileOutcome, type ProfileReport } from '../language-server/protocol.ts';
import { allocatorsText } from './allocators.ts';
import type { Client } from './client.ts';
import { comparison, type Run, type Sides } from './compare.ts';
import { resultsScheme } from './line-links.ts';
import type { Profiler } from './profile.ts';
import { seekInTimeline, viewType, type Sought } from './timeline/panel.ts';

export class Results implements vscode.Disposable {
  readonly #profiler: Profiler;
  readonly #disposables: vscode.Disposable[];
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  #runs: readonly Run[] = [];
  #profileFile: string | undefined;
  /** What is shown beside the source, by its title. */
  readonly #texts = new Map<string, string>();

  constructor(client: Client, profiler: Profiler) {
    this.#profiler = profiler;
    this.#disposables = [
      this.#changed,
      client.events.started(() => void this.#restore(client)),
      profiler.onDone((outcome) => this.#keep(outcome)),
      vscode.workspace.registerTextDocumentContentProvider(resultsScheme, {
        onDidChange: this.#changed.event,
        provideTextDocumentContent: (uri) => this.#texts.get(uri.path) ?? '',
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
    await this.#showSides(vscode.l10n.t('Before ↔ after'), comparison(this.#runs[0]!, this.#runs[1]!));
  }

  async compareAllocators(uri: vscode.Uri): Promise<void> {
    const compared = await this.#profiler.compareAllocators(uri);
    if (compared === undefined) return;
    if (compared.message !== null) void vscode.window.showWarningMessage(compared.message);
    if (compared.runs.length === 0) return;
    await this.#show(vscode.l10n.t('Allocators side by side'), allocatorsText(compared));
  }

  /** Two saved profiles: the two that are selected in the explorer, the older one first, or two that are chosen. */
  async compareProfiles(selected: readonly vscode.Uri[]): Promise<void> {
    const chosen = selected.length === 2 ? selected : await twoProfiles();
    if (chosen === undefined) return;
    const runs = await Promise.all(chosen.map(savedRun));
    const broken = chosen.find((_, i) => runs[i] === undefined);
    if (broken !== undefined) {
      void vscode.window.showWarningMessage(vscode.l10n.t('{0} is no profile.', path.basename(broken.fsPath)));
      return;
    }
    const [before, after] = runs.map((run) => run!).sort((a, b) => a.endedAt.getTime() - b.endedAt.getTime());
    await this.#showSides([before!, after!].map(({ name }) => name).join(' ↔ '), comparison(before!, after!));
  }

  /** In the editor's own comparison, over the whole width: beside the source there is no room for two sides. */
  async #showSides(title: string, { before, after }: Sides): Promise<void> {
    const [left, right] = [this.#renewed(`${title}/before`, before), this.#renewed(`${title}/after`, after)];
    await vscode.commands.executeCommand('vscode.diff', left, right, title, { viewColumn: vscode.ViewColumn.Active, preview: false });
  }

  /** The address of a text, with what it says now. */
  #renewed(at: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: resultsScheme, path: at });
    this.#texts.set(uri.path, text);
    this.#changed.fire(uri);
    return uri;
  }

  async #show(title: string, text: string): Promise<void> {
    const uri = this.#renewed(title, text);
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

  #nothingYet(): void {
    void vscode.window.showInformationMessage(
      vscode.l10n.t('Nothing was measured yet. Click `▶ Profile memory` above a file or function.'),
    );
  }
}

/** The report of a profile file, and when it was written; undefined for what is none. */
async function savedRun(uri: vscode.Uri): Promise<(Run & { readonly name: string }) | undefined> {
  try {
    const { mtime } = await vscode.workspace.fs.stat(uri);
    const report = JSON.parse(await firstLine(uri.fsPath)) as Partial<ProfileReport>;
    return report.version === 1 && Array.isArray(report.lines) && Array.isArray(report.functions)
      ? { report: report as ProfileReport, endedAt: new Date(mtime), name: path.basename(uri.fsPath) }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The events that follow may be many times the memory of this process. */
async function firstLine(file: string): Promise<string> {
  const lines = createInterface({ input: createReadStream(file) });
  for await (const line of lines) return line;
  return '';
}

async function twoProfiles(): Promise<readonly vscode.Uri[] | undefined> {
  const chosen = await vscode.window.showOpenDialog({
    canSelectMany: true,
    filters: { [vscode.l10n.t('Tidemark profile')]: ['tidemark'] },
    title: vscode.l10n.t('Choose two profiles to compare'),
  });
  if (chosen === undefined || chosen.length === 2) return chosen;
  void vscode.window.showInformationMessage(vscode.l10n.t('Two profiles are compared, and {0} were chosen.', chosen.length));
  return undefined;
}
