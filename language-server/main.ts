/**
 * Starts the server on the connection that the command line or the editor gives: `--node-ipc`, `--stdio`, `--socket`.
 *
 * The one place where features meet the real analysis and the real measurement; both are loaded on first use, after the
 * handshake. Depends on: lsp, workspace, measure, vscode-languageserver.
 */
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { serve } from './lsp/server.ts';
import type { Sources } from './lsp/sources.ts';

export const sources: Sources = {
  analysis: async (folder) => (await import('./workspace.ts')).createWorkspace({ cwd: folder }),
  measure: async () => (await import('./lsp/measure.ts')).measure,
  now: () => Date.now(),
};

export function startServer(): void {
  serve(createConnection(ProposedFeatures.all), sources);
}

startServer();
