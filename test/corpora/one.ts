/**
 * Checks one fetched package and prints what was found as JSON: run by check.mjs in a process of its own.
 *
 * Depends on: language-server/workspace.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { createWorkspace } from '../../language-server/workspace.ts';

const started = performance.now();
const folder = resolve(process.argv[2] ?? '.');
process.chdir(folder);
const { files } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as { readonly files: readonly string[] };
const workspace = createWorkspace({ cwd: folder, project: 'tsconfig.json' });
const report = await workspace.check(files, { explainSilence: true });
const { user, system } = process.cpuUsage();
process.stdout.write(
  JSON.stringify({
    ...report,
    ms: Math.round(performance.now() - started),
    processorSeconds: (user + system) / 1e6,
    peakMiB: Math.round(process.resourceUsage().maxRSS / 1024),
  }),
);
