/**
 * Starts the server on the connection that the command line or the editor gives: `--node-ipc`, `--stdio`, `--socket`.
 *
 * The one place where features meet the real analysis and the real measurement; both are loaded on first use, after the
 * handshake. Depends on: lsp, workspace, measure, vscode-languageserver.
 */
import { Worker } from 'node:worker_threads';
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { remoteAnalysis } from './lsp/remote-analysis.ts';
import { serve } from './lsp/server.ts';
import type { Analysis, Sources } from './lsp/sources.ts';

export const sources: Sources = {
  analysis,
  measure: async () => (await import('./lsp/measure.ts')).measure,
  now: () => Date.now(),
};

/** In the bundle analysis has a thread of its own; run from its sources, it shares the server's. */
async function analysis(folder: string): Promise<Analysis> {
  if (import.meta.url.endsWith('.ts')) return (await import('./workspace.ts')).createWorkspace({ cwd: folder });
  return remoteAnalysis({
    start: () => new Worker(new URL('./analysis-worker.js', import.meta.url), { workerData: { folder } }),
    patienceMs: 30_000,
    processorMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    log: (words) => console.error(words),
  });
}

export function startServer(): void {
  serve(createConnection(ProposedFeatures.all), sources);
}

startServer();
