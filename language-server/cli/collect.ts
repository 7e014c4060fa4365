/**
 * `tidemark collect FOLDER`: makes a saved profile of the events that a program left there, and says in one line how high memory rose.
 *
 * What a program that was started with `--import tidemark/register` calls at its end, or who watches over it when it is
 * killed. The folder is removed once the profile is written. Depends on: measure, profile-formats, args, text.
 */
import { existsSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { readReport } from '../measure/run.ts';
import type { ProfileReport } from '../protocol.ts';
import { helpText, readArguments } from './args.ts';
import type { OptionTable } from './args.ts';
import { exitCodes, outFile, UsageError } from './io.ts';
import type { IO } from './io.ts';
import { writeProfile } from './profile-formats.ts';
import { bytesText, counted } from './text.ts';

const options: OptionTable = {
  out: { value: 'FILE', help: 'the profile to write (default: program.tidemark)' },
  entry: { value: 'FILE', help: 'what the program was started with' },
  'exit-code': { value: 'N', help: 'how the program ended; absent when it was killed' },
  'wall-ms': { value: 'MS', help: 'how long the program ran' },
  help: { help: 'show this' },
};

export async function collectCommand(argv: readonly string[], io: IO): Promise<number> {
  const args = readArguments('collect', options, argv);
  if (args.has('help')) {
    io.out(helpText('tidemark collect FOLDER [options]', 'Makes a saved profile of the events that a program left in a folder.', options));
    return exitCodes.fine;
  }
  const [folder, ...others] = args.positional;
  if (folder === undefined || others.length > 0)
    throw new UsageError(`one folder is collected, and ${args.positional.length} were given`, 'tidemark collect FOLDER');
  const events = resolve(io.cwd, folder);
  if (!existsSync(join(events, 'run.json')))
    throw new UsageError(`${folder} holds no events of a program`, 'give the folder that TIDEMARK_EVENTS named');
  const out = args.value('out') ?? 'program.tidemark';
  const path = outFile(out, io);
  const exitCode = args.value('exit-code');
  const entry = relative(io.cwd, resolve(io.cwd, args.value('entry') ?? 'program')).replaceAll('\\', '/');
  const report = await readReport(events, {
    entry,
    wallMs: Number(args.value('wall-ms') ?? 0),
    exitCode: exitCode === undefined ? null : Number(exitCode),
    notes: exitCode === undefined ? ['the program was killed; the profile reaches up to that point'] : [],
  });
  await writeProfile('tidemark', report, events, path, process.stdout);
  rmSync(events, { recursive: true, force: true });
  io.err(`${summary(report)}; saved as ${out} (\`npx tidemark show ${out}\`, or open it in the editor)\n`);
  return exitCodes.fine;
}

function summary({ peakBytes, peakAt, leaks }: ProfileReport): string {
  if (peakBytes === 0) return 'tidemark: no array was allocated';
  const at = peakAt === null ? '' : ` at ${peakAt.file}:${peakAt.line}`;
  const lost = leaks.length === 0 ? '' : `, ${counted(leaks.length, 'line')} leaking`;
  return `tidemark: memory rose to ${bytesText(peakBytes)}${at}${lost}`;
}
