/**
 * Runs files one after the other on the device of the environment and prints, as one line of JSON per file, every program
 * that ran with its plan's peak, and the highest bytes in use. Calls `main()` where a file exports one and did nothing by itself.
 *
 * Depends on: runtime (api, device, ir).
 */
import { pathToFileURL } from 'node:url';
import { device } from '../../runtime/api/current.ts';
import * as memory from '../../runtime/api/memory.ts';
import type { Executable } from '../../runtime/compile/executable.ts';
import { printProgram } from '../../runtime/ir/print.ts';
import '../../runtime/index.ts';

const files = process.argv.splice(2);
let ran = new Set<Executable>();
const target = device();
const original = target.run.bind(target);
Object.defineProperty(target, 'run', {
  value: (...args: Parameters<typeof original>) => {
    ran.add(args[0]);
    return original(...args);
  },
});

for (const file of files) {
  ran = new Set();
  memory.resetPeak();
  let error: string | null = null;
  try {
    const loaded = (await import(pathToFileURL(file).href)) as { readonly main?: () => unknown };
    if (ran.size === 0) await loaded.main?.();
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  const programs = [...ran].map((executable) => ({ program: printProgram(executable.program), peakBytes: executable.analysis.peakBytes }));
  console.log(`\nTRACED ${JSON.stringify({ file, programs, error, peakBytes: memory.stats().peakBytesInUse })}`);
}
