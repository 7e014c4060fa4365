/**
 * Runs the rules on one file: severities, suppressions, and one report for one mistake.
 *
 * A rule that fails is an internal fault: counted, never shown as a finding. Depends on: rules, flow/facts, lower/ir,
 * snapshots.
 */
import type { Directive, Unit } from '../lower/ir.ts';
import type { Severity, SeveritySetting } from '../protocol.ts';
import { rules } from '../rules/index.ts';
import type { Finding, RuleContext, Settings } from '../rules/rule.ts';
import type { Snapshot } from './snapshots.ts';

export interface Reported {
  readonly rule: string;
  readonly severity: Severity;
  readonly finding: Finding;
}

export function runRules(
  snapshot: Snapshot,
  unit: Unit,
  settings: Settings,
  severityOf: (rule: string, own: Severity) => SeveritySetting,
  silences: Map<string, number> | undefined,
  look: () => void,
): readonly Reported[] {
  const { facts } = snapshot;
  const { project, shared, lasting } = snapshot.part(unit.file);
  if (unit.libraries.size === 0 && unit.directives.length === 0) return [];
  const here = <T extends { readonly span: { readonly file: string } }>(list: readonly T[]): readonly T[] =>
    list.filter(({ span }) => span.file === unit.file);
  const found: Reported[] = [];
  for (const rule of rules) {
    if (severityOf(rule.id, rule.severity) === 'off') continue;
    const context: RuleContext = {
      project,
      unit,
      settings,
      shared,
      lasting,
      look,
      observations: here(facts.observations),
      calls: here(facts.calls),
      allCalls: facts.calls,
      captures: here(facts.captures),
      functions: [...unit.functions.values()],
      silent: (reason) => void silences?.set(`${rule.id}: ${reason}`, (silences.get(`${rule.id}: ${reason}`) ?? 0) + 1),
    };
    try {
      look();
      for (const finding of rule.check(context)) {
        look();
        const severity = severityOf(rule.id, finding.severity ?? rule.severity);
        if (severity !== 'off') found.push({ rule: rule.id, severity, finding });
      }
    } catch (error) {
      look();
      snapshot.fault(`rule ${rule.id}`, error);
    }
  }
  return suppressed(unit, once(found), severityOf).toSorted(
    (a, b) => a.finding.span.start - b.finding.span.start || a.rule.localeCompare(b.rule),
  );
}

/** The same rule at the same place says the same mistake. */
function once(found: readonly Reported[]): readonly Reported[] {
  const seen = new Set<string>();
  return found.filter(({ rule, finding }) => {
    const key = `${rule} ${finding.span.start}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function suppressed(
  unit: Unit,
  found: readonly Reported[],
  severityOf: (rule: string, own: Severity) => SeveritySetting,
): readonly Reported[] {
  const ignores = unit.directives.filter((directive): directive is Extract<Directive, { kind: 'ignore' }> => directive.kind === 'ignore');
  if (ignores.length === 0) return found;
  const used = new Set<Directive>();
  const left = found.filter(({ rule, finding }) => {
    const line = unit.lines.findLastIndex((start) => start <= finding.span.start);
    const ignore = ignores.find((directive) => directive.rule === rule && directive.line + 1 === line);
    if (ignore !== undefined) used.add(ignore);
    return ignore === undefined;
  });
  const severity = severityOf('unused-suppression', 'warning');
  if (severity === 'off') return left;
  const known = new Set(rules.map(({ id }) => id));
  // A budget counts by its line: without one, nothing in the file depends on the line that goes.
  const safe = unit.directives.length === ignores.length && [...unit.functions.values()].every((fn) => fn.budgetBytes === undefined);
  const unused = ignores
    .filter((directive) => !used.has(directive) && severityOf(directive.rule, 'warning') !== 'off')
    .map((directive): Reported => ({
      rule: 'unused-suppression',
      severity,
      finding: {
        span: directive.span,
        message: known.has(directive.rule)
          ? `this comment silences nothing: \`${directive.rule}\` finds nothing on the next line`
          : `this comment silences nothing: there is no rule \`${directive.rule}\``,
        notes: [],
        intents: [{ kind: 'removeComment', title: 'Remove the comment', safe, comment: directive.span }],
      },
    }));
  return [...left, ...unused];
}
