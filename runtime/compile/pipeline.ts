/**
 * From a traced program to an executable: simplify, fuse, schedule, place.
 *
 * Depends on: core, ops, executable.
 */
import type { Program } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import type { CompileOptions, Executable } from './executable.ts';

export function compile(_program: Program<Op>, _options: CompileOptions): Executable {
  throw new Error('internal: runtime/compile: not there yet');
}
