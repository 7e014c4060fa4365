/**
 * The two status items: what analysis does (in the language status), and the last measured peak (in the status bar).
 *
 * Depends on: client, core/bytes.
 */
import * as vscode from 'vscode';
import type { ServerStatus } from '../language-server/protocol.ts';
import { writeBytes } from '../runtime/core/bytes.ts';
import { selector, type Client } from './client.ts';

export function showStatus(client: Client): vscode.Disposable {
  const language = vscode.languages.createLanguageStatusItem('tidemark', selector);
  language.name = 'Tidemark';
  language.text = 'Tidemark';
  language.command = { command: 'tidemark.showOutput', title: vscode.l10n.t('Show Output') };

  const peak = vscode.window.createStatusBarItem('tidemark.peak', vscode.StatusBarAlignment.Right, 90);
  peak.name = vscode.l10n.t('Tidemark: measured peak');

  const listening = client.events.status((status) => {
    language.busy = status.busy;
    language.detail = detail(status);
    language.severity = vscode.LanguageStatusSeverity.Information;
    showPeak(peak, status);
    void vscode.commands.executeCommand('setContext', 'tidemark.measured', status.peakBytes !== null);
  });
  return vscode.Disposable.from(language, peak, listening);
}

function detail({ findings, busy }: ServerStatus): string {
  if (busy) return vscode.l10n.t('analysing');
  return findings === 1 ? vscode.l10n.t('1 finding in open files') : vscode.l10n.t('{0} findings in open files', findings);
}

function showPeak(item: vscode.StatusBarItem, { peakBytes, peakFile, peakPath, stale }: ServerStatus): void {
  if (peakBytes === null) return item.hide();
  const bytes = writeBytes(peakBytes);
  item.text = stale ? `$(history) ${bytes}` : `$(pulse) ${bytes}`;
  const where = peakFile ?? '';
  const uri = peakPath === null ? [] : [vscode.Uri.file(peakPath).toString()];
  item.command = { command: 'tidemark.showPeak', title: vscode.l10n.t('Go to the peak'), arguments: uri };
  item.tooltip = stale
    ? vscode.l10n.t('Peak of the last measured run, {0}: the code changed since', where)
    : vscode.l10n.t('Peak of the last measured run, {0}', where);
  item.accessibilityInformation = {
    label: stale
      ? vscode.l10n.t('Measured memory peak {0}, before the code changed', bytes)
      : vscode.l10n.t('Measured memory peak {0}', bytes),
  };
  item.show();
}
