/**
 * A place in user code, whether it came from a stack or from a span of source text.
 *
 * Lines and columns count from 1; columns in UTF-16 units. `file` is what the stack said (a path or a file: URL);
 * mapping through source maps happens only where a report is written. Depends on: nothing.
 */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Name of the enclosing function, when known. */
  readonly function?: string;
}
