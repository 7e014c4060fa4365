/**
 * Carets to expectations, and findings to carets.
 *
 * A line `//    ^^^^ error: text` expects a finding that starts under the first caret, on the nearest line above that is no
 * marker. Where more carets than the text is wide would be needed, one caret is enough: only the start counts, and the
 * severity and message. Depends on: protocol.
 */
import type { Diagnostic } from '../../language-server/protocol.ts';

export interface Expectation {
  readonly line: number;
  readonly column: number;
  readonly severity: string;
  readonly message: string;
}

const marker = /^([ \t]*\/\/[ \t]*)(\^+)[ \t]+(error|warning|info|hint): (.*)$/;

export function expectationsOf(text: string): readonly Expectation[] {
  const found: Expectation[] = [];
  let code = 0;
  text.split('\n').forEach((line, i) => {
    const match = marker.exec(line);
    if (match === null) code = i + 1;
    else found.push({ line: code, column: match[1]!.length + 1, severity: match[3]!, message: match[4]!.trim() });
  });
  return found;
}

/** The source with a caret line under each finding, as a test would state it. */
export function withCarets(text: string, diagnostics: readonly Pick<Diagnostic, 'line' | 'column' | 'severity' | 'message'>[]): string {
  return text
    .split('\n')
    .filter((line) => !marker.test(line) || true)
    .flatMap((line, i) => [
      line,
      ...diagnostics.filter((d) => d.line === i + 1).map((d) => `//${' '.repeat(Math.max(0, d.column - 3))}^ ${d.severity}: ${d.message}`),
    ])
    .join('\n');
}
