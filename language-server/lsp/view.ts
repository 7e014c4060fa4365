/**
 * One file as the features of the editor see it: its text, what analysis says, and what was measured on it.
 *
 * Features are pure functions of a view, so that each is tested without a connection. Depends on: measurements, protocol.
 */
import type { Diagnostic, FunctionFact, ServerSettings } from '../protocol.ts';
import type { OutlinedFunction } from '../program/outline.ts';
import type { Measurement, PlacedFile } from './measurements.ts';

export interface View {
  /** Absolute path. */
  readonly file: string;
  readonly uri: string;
  readonly text: string;
  readonly version: number;
  /** Uses arrays of a library that is known; lenses appear only then. */
  readonly usesArrays: boolean;
  readonly outline: readonly OutlinedFunction[];
  readonly functions: readonly FunctionFact[];
  readonly diagnostics: readonly Diagnostic[];
  readonly measurement: Measurement | undefined;
  readonly placed: PlacedFile | undefined;
  /** Functions asked for in the last run that were never called. */
  readonly notReached: ReadonlySet<string>;
  readonly settings: Settings;
}

/** Settings with every default filled in. */
export interface Settings {
  readonly minBytes: number;
  readonly codeLens: boolean;
  readonly inlay: 'peak' | 'all' | 'off';
  readonly lifetimes: boolean;
}

export function settingsOf({ minBytes, codeLens, inlay, lifetimes }: ServerSettings): Settings {
  return { minBytes: minBytes ?? 1048576, codeLens: codeLens ?? true, inlay: inlay ?? 'all', lifetimes: lifetimes ?? true };
}
