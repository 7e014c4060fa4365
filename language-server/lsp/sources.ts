/**
 * What the editor's features ask of analysis and of measurement: the seams at which `main.ts` puts the real ones.
 *
 * Tests put their own here, and a server without one of them still does what the other allows. Depends on: protocol.
 */
import type { Figures } from '../compiled/explain.ts';
import type {
  Diagnostic,
  Explanation,
  FunctionFact,
  Life,
  Occurrence,
  OutputParams,
  Position,
  ProfileOutcome,
  ServerSettings,
} from '../protocol.ts';

export interface CancelToken {
  readonly isCancelled: boolean;
  onCancel(listener: () => void): void;
}

/** Analysis of one workspace folder. Answers are about the texts last handed over; nothing is read but through `host`. */
export interface Analysis {
  /** Text of an open file, or undefined once it is closed and the disk counts again. */
  setText(file: string, text: string | undefined): void;
  /** Files were made, changed or removed outside the editor. */
  filesChanged(files: readonly string[]): void;
  setSettings(settings: ServerSettings): void;
  diagnostics(token: CancelToken, file: string): Promise<readonly Diagnostic[]>;
  functions(token: CancelToken, file: string): Promise<readonly FunctionFact[]>;
  /** Markdown about the array or rule at a place. */
  hover(token: CancelToken, file: string, position: Position): Promise<string | undefined>;
  life(token: CancelToken, file: string, position: Position): Promise<Pick<Life, 'name' | 'ranges'> | undefined>;
  /** Where the array at a place is named; undefined when there is none. */
  occurrences(token: CancelToken, file: string, position: Position): Promise<readonly Occurrence[] | undefined>;
  explain(token: CancelToken, file: string, wanted: { readonly name: string; readonly line: number }): Promise<Explanation | undefined>;
  dispose?(): void;
}

export interface RunOptions {
  /** Absolute path of what is started, or the address of a page. */
  readonly entry: string;
  readonly isPage: boolean;
  readonly cwd: string;
  readonly args: readonly string[];
  readonly settings: ServerSettings;
  /** Where the `.tidemark` file of the run goes; undefined keeps none. */
  readonly profileFile: string | undefined;
  readonly output: (line: OutputParams) => void;
}

export interface Measured extends Omit<ProfileOutcome, 'notReached'> {
  /** The programs that it compiled; absent when none were. */
  readonly programs?: readonly Figures[];
}

/** Runs a program and measures it. Never rejects for what the program does: the outcome says it. */
export type Measure = (options: RunOptions, token: CancelToken) => Promise<Measured>;

export interface Sources {
  /** Loaded on first use, after the handshake: TypeScript alone takes more than half a second. */
  readonly analysis?: (folder: string) => Promise<Analysis>;
  readonly measure: () => Promise<Measure>;
  readonly now: () => number;
}
