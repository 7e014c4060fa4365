/**
 * `tidemark show FILE`: a profile that was saved before, as `tidemark profile` printed it.
 *
 * Depends on: args, profile, profile-text, saved-profile, text.
 */
import { helpText, readArguments } from './args.ts';
import type { OptionTable } from './args.ts';
import { exitCodes, UsageError } from './io.ts';
import type { IO } from './io.ts';
import { profileText } from './profile-text.ts';
import { sourceFiles } from './profile.ts';
import { readProfile } from './saved-profile.ts';
import { paint } from './text.ts';

const options: OptionTable = {
  format: { value: 'FORMAT', help: 'text (default) or json', oneOf: ['text', 'json'] },
  help: { help: 'show this' },
};

export async function showCommand(argv: readonly string[], io: IO): Promise<number> {
  const args = readArguments('show', options, argv);
  if (args.has('help')) {
    io.out(helpText('tidemark show FILE', 'Shows a saved profile with the sources as they are now.', options));
    return exitCodes.fine;
  }
  const [file, ...others] = args.positional;
  if (file === undefined || others.length > 0)
    throw new UsageError(`one profile is shown, and ${args.positional.length} were given`, 'tidemark show FILE');
  const report = readProfile(file, io);
  io.out(args.value('format') === 'json' ? `${JSON.stringify(report, null, 2)}\n` : profileText(report, sourceFiles(io), paint(io.color)));
  return exitCodes.fine;
}
