/**
 * Checks one fetched package and prints what was found as JSON: run by check.mjs in a process of its own.
 *
 * Depends on: language-server/workspace.
 */
import process from 'node:process';
import { createWorkspace } from '../../language-server/workspace.ts';

const started = performance.now();
const folder = process.argv[2] ?? '.';
process.chdir(folder);
const workspace = createWorkspace({ cwd: folder });
const report = await workspace.check([folder]);
process.stdout.write(JSON.stringify({ ...report, ms: Math.round(performance.now() - started) }));
