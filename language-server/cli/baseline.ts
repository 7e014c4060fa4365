/**
 * A baseline: the findings that a project knows of, so that only new ones count.
 *
 * A finding is known by its file, its rule and the text of its line, not by its number, and as often as it stood there.
 * Depends on: sarif (fingerprints), io.
 */
import type { CheckReport, Diagnostic } from '../protocol.ts';
import { UsageError } from './io.ts';
import type { SourceFiles } from './profile-text.ts';
import { fingerprint } from './sarif.ts';

export type Baseline = ReadonlyMap<string, number>;

export function baselineText(report: CheckReport, sources: SourceFiles): string {
  const counts = new Map<string, { file: string; rule: string; count: number }>();
  for (const one of report.diagnostics) {
    const key = fingerprint(one, sources);
    counts.set(key, { file: one.file, rule: one.rule, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  const findings = [...counts]
    .map(([id, { file, rule, count }]) => ({ file, rule, count, id }))
    .toSorted((a, b) => (`${a.file} ${a.id}` < `${b.file} ${b.id}` ? -1 : 1));
  return JSON.stringify({ version: 1, findings }, null, 2) + '\n';
}

export function readBaseline(file: string, text: string): Baseline {
  try {
    const value: unknown = JSON.parse(text);
    if (
      typeof value === 'object' &&
      value !== null &&
      'version' in value &&
      value.version === 1 &&
      'findings' in value &&
      Array.isArray(value.findings)
    ) {
      return new Map((value.findings as { id: string; count: number }[]).map(({ id, count }) => [id, count]));
    }
  } catch {
    // Said below.
  }
  throw new UsageError(`${file} is no baseline of this version`, 'write it anew with `tidemark check --baseline FILE --update`');
}

/** The report without what the baseline knows. */
export function withoutKnown(report: CheckReport, known: Baseline, sources: SourceFiles): CheckReport {
  const left = new Map(known);
  const isNew = (one: Diagnostic): boolean => {
    const key = fingerprint(one, sources);
    const count = left.get(key) ?? 0;
    if (count > 0) left.set(key, count - 1);
    return count === 0;
  };
  return { ...report, diagnostics: report.diagnostics.filter(isNew) };
}
