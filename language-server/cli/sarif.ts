/**
 * Findings as SARIF 2.1.0, which code scanning reads as is.
 *
 * Addresses are relative to the folder that was checked; columns count UTF-16 units, as everywhere here. A finding's
 * fingerprint leaves out its line, so that it stays the same finding when code above it moves. Depends on: protocol.
 */
import { createHash } from 'node:crypto';
import type { CheckReport, Diagnostic, Edit, Severity } from '../protocol.ts';
import type { SourceFiles } from './profile-text.ts';

export interface RuleText {
  readonly id: string;
  readonly docs: string;
}

const levels: Readonly<Record<Severity, 'error' | 'warning' | 'note'>> = { error: 'error', warning: 'warning', info: 'note', hint: 'note' };

export function sarifText(report: CheckReport, rules: readonly RuleText[], sources: SourceFiles, version: string): string {
  const ids = [...new Set([...rules.map(({ id }) => id), ...report.diagnostics.map(({ rule }) => rule)])];
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'Tidemark',
            semanticVersion: version,
            rules: ids.map((id) => {
              const docs = rules.find((rule) => rule.id === id)?.docs.trim() ?? id;
              return {
                id,
                name: id,
                shortDescription: { text: firstSentence(docs) },
                fullDescription: { text: docs },
                help: { text: docs },
              };
            }),
          },
        },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: { SRCROOT: { description: { text: 'the folder that was checked' } } },
        results: report.diagnostics.map((one) => result(one, ids.indexOf(one.rule), sources)),
      },
    ],
  };
  return JSON.stringify(log, null, 2) + '\n';
}

function result(one: Diagnostic, ruleIndex: number, sources: SourceFiles) {
  const fixes = one.fixes.filter((fix) => fix.disabled === undefined && fix.edits.length > 0);
  return {
    ruleId: one.rule,
    ruleIndex,
    level: levels[one.severity],
    message: { text: one.message },
    locations: [{ physicalLocation: physical(one.file, one.line, one.column, one.endLine, one.endColumn) }],
    ...(one.related.length === 0
      ? {}
      : {
          relatedLocations: one.related.map((place, i) => ({
            id: i + 1,
            message: { text: place.message },
            physicalLocation: physical(
              place.file,
              place.line,
              place.column,
              place.endLine ?? place.line,
              place.endColumn ?? place.column + 1,
            ),
          })),
        }),
    ...(fixes.length === 0
      ? {}
      : { fixes: fixes.map((fix) => ({ description: { text: fix.title }, artifactChanges: changes(fix.edits) })) }),
    partialFingerprints: { 'tidemarkFinding/v1': fingerprint(one, sources) },
    ...(one.savesBytes === null ? {} : { properties: { savesBytes: one.savesBytes } }),
  };
}

const artifact = (file: string) => ({ uri: file.split('/').map(encodeURIComponent).join('/'), uriBaseId: 'SRCROOT' });

function physical(file: string, startLine: number, startColumn: number, endLine: number, endColumn: number) {
  return { artifactLocation: artifact(file), region: { startLine, startColumn, endLine, endColumn } };
}

function changes(edits: readonly Edit[]) {
  const files = [...new Set(edits.map(({ file }) => file))];
  return files.map((file) => ({
    artifactLocation: artifact(file),
    replacements: edits
      .filter((edit) => edit.file === file)
      .map(({ start, end, newText }) => ({
        deletedRegion: { startLine: start.line, startColumn: start.column, endLine: end.line, endColumn: end.column },
        insertedContent: { text: newText },
      })),
  }));
}

/** What stays the same when code elsewhere changes: file, rule, and the text of the line. */
export function fingerprint(one: Diagnostic, sources: SourceFiles): string {
  const line = sources.lines(one.file)?.[one.line - 1]?.trim() ?? one.message;
  return createHash('sha256').update(`${one.file}\n${one.rule}\n${line}`).digest('hex').slice(0, 32);
}

const firstSentence = (text: string): string => /^[\s\S]*?[.!?](?=\s|$)/.exec(text)?.[0].replace(/\s+/g, ' ') ?? text;
