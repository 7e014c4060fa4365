/**
 * Findings for people: where, what, the source with carets under it, the places that belong to it, what can be done.
 *
 * Depends on: text, protocol.
 */
import type { CheckReport, Diagnostic, Severity } from '../protocol.ts';
import type { SourceFiles } from './profile-text.ts';
import { counted, tableText } from './text.ts';
import type { Paint } from './text.ts';

const colours = { error: 'red', warning: 'yellow', info: 'cyan', hint: 'dim' } as const satisfies Record<Severity, Parameters<Paint>[0]>;

export function checkText(report: CheckReport, sources: SourceFiles, paint: Paint, files: number): string {
  const findings = report.diagnostics.map((one) => findingText(one, sources, paint));
  return [...findings, summary(report.diagnostics, files, paint)].join('\n\n') + '\n';
}

function findingText(one: Diagnostic, sources: SourceFiles, paint: Paint): string {
  const colour = colours[one.severity];
  const head = `${paint('bold', `${one.file}:${one.line}:${one.column}`)} ${paint(colour, one.severity)} ${one.message} ${paint('dim', `[${one.rule}]`)}`;
  const related = one.related.flatMap((place) => {
    const where = `${place.file === one.file ? 'line' : place.file} ${place.file === one.file ? '' : 'line '}${place.line}`;
    return [
      `  ${paint('dim', `${where}:`)} ${place.message}`,
      ...excerpt(sources, place.file, place.line, place.column, place.endColumn ?? place.column + 1, paint, 'dim'),
    ];
  });
  const end = one.endLine === one.line ? one.endColumn : Number.POSITIVE_INFINITY;
  const fixes = one.fixes.map(
    (fix) =>
      `  ${paint('green', 'fix')}: ${fix.title}${fix.disabled !== undefined ? ` (not possible here: ${fix.disabled})` : fix.safe ? ' (safe: `tidemark check --fix`)' : ''}`,
  );
  return [head, ...excerpt(sources, one.file, one.line, one.column, end, paint, colour), ...related, ...fixes].join('\n');
}

/** A line of source with carets under what is meant. Tabs stay tabs, so that the carets stand right. */
function excerpt(
  sources: SourceFiles,
  file: string,
  line: number,
  column: number,
  endColumn: number,
  paint: Paint,
  colour: Parameters<Paint>[0],
): readonly string[] {
  const text = sources.lines(file)?.[line - 1];
  if (text === undefined) return [];
  const margin = String(line).padStart(5);
  const indent = text.slice(0, column - 1).replace(/[^\t]/g, ' ');
  const width = Math.max(1, Math.min(endColumn, text.length + 1) - column);
  return [`${paint('dim', `${margin} │`)} ${text}`, `${paint('dim', `${''.padStart(5)} │`)} ${indent}${paint(colour, '^'.repeat(width))}`];
}

function summary(diagnostics: readonly Diagnostic[], files: number, paint: Paint): string {
  if (diagnostics.length === 0) return paint('green', `no findings in ${counted(files, 'file')}`);
  const severities = (['error', 'warning', 'info', 'hint'] as const).flatMap((severity) => {
    const count = diagnostics.filter((one) => one.severity === severity).length;
    return count === 0 ? [] : [paint(colours[severity], severity === 'info' ? `${count} info` : counted(count, severity))];
  });
  const fixable = diagnostics.filter((one) => one.fixes.some((fix) => fix.safe && fix.disabled === undefined)).length;
  const hint = fixable === 0 ? '' : `; \`tidemark check --fix\` applies safe fixes of ${fixable}`;
  return `${counted(diagnostics.length, 'finding')}: ${severities.join(', ')}${hint}`;
}

/** Why rules stayed silent, most often first. */
export function silenceText(report: CheckReport, paint: Paint): string {
  const silence = report.silence ?? [];
  if (silence.length === 0) return 'no rule had a reason to stay silent\n';
  const rows = silence.toSorted((a, b) => b.count - a.count).map(({ rule, reason, count }) => [String(count), rule, reason]);
  return `${paint('bold', 'why rules stayed silent')}\n${tableText(rows, new Set([0])).replace(/^/gm, '  ')}\n`;
}

/** Annotations that GitHub shows on the lines of a pull request. */
export function githubText(report: CheckReport): string {
  const commands = { error: 'error', warning: 'warning', info: 'notice', hint: 'notice' } as const;
  const lines = report.diagnostics.map((one) => {
    const fields = {
      file: one.file,
      line: one.line,
      endLine: one.endLine,
      col: one.column,
      endColumn: one.endColumn,
      title: `tidemark ${one.rule}`,
    };
    const properties = Object.entries(fields).map(
      ([name, value]) => `${name}=${escaped(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`,
    );
    return `::${commands[one.severity]} ${properties.join(',')}::${escaped(one.message)}`;
  });
  return lines.map((line) => `${line}\n`).join('');
}

const escaped = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
