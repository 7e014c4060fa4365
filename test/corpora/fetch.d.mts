/** Types of fetch.mjs. */
export interface Fetched {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
  /** Chosen code, relative to the folder. */
  readonly files: readonly string[];
}
export function fetchAll(names?: readonly string[]): readonly Fetched[];
