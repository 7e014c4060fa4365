/**
 * What a rule is, and what it may ask.
 *
 * A rule reads facts of one file (what flow observed, the calls of compiled functions, the lowered functions) and yields
 * findings with intents; it never sees syntax, text edits or a protocol, and names no library. The engine adds the
 * severity, drops what a comment silences, and keeps the first of several findings for one mistake.
 * Depends on: lower (ir, intent), flow/facts.
 */
import type { Capture, CompiledCall, Observation } from '../flow/facts.ts';
import type { Intent } from '../lower/intent.ts';
import type { FunctionId, LoweredFunction, Project, Span, Unit } from '../lower/ir.ts';

export type Severity = 'error' | 'warning' | 'info' | 'hint';

export interface Note {
  readonly span: Span;
  readonly text: string;
}

export interface Finding {
  readonly span: Span;
  readonly message: string;
  /** Other places: where it was donated, made, freed. */
  readonly notes: readonly Note[];
  readonly intents: readonly Intent[];
  /** Planned peak without minus with the change; null where no plan can be computed; absent where bytes are not the point. */
  readonly savesBytes?: number | null;
  /** When the severity depends on the case (`unusable-donation`). */
  readonly severity?: Severity;
}

export interface Settings {
  /** Hints about bytes start here. */
  readonly minBytes: number;
  /** The project's memory budget. */
  readonly budgetBytes?: number;
  /** Sizes assumed for dimensions without a value, by name. */
  readonly assume: Readonly<Record<string, number>>;
}

/** What the last profile measured for this version of the file; rules may use it where the text doesn't say. */
export interface Measured {
  readonly peakBytesOfLine: ReadonlyMap<number, number>;
  /** Traces of each compiled function, by line of its `jit`. */
  readonly tracesOfLine: ReadonlyMap<number, number>;
}

export interface RuleContext {
  readonly project: Project;
  /** The file at hand. */
  readonly unit: Unit;
  /** What flow observed in this file. */
  readonly observations: readonly Observation[];
  /** Calls of compiled functions in this file. */
  readonly calls: readonly CompiledCall[];
  /** All calls of compiled functions of the project: `donateArgnums` needs every caller's consent. */
  readonly allCalls: readonly CompiledCall[];
  readonly captures: readonly Capture[];
  readonly settings: Settings;
  readonly measured?: Measured;
  /** Functions of this file. */
  readonly functions: readonly LoweredFunction[];
  /** Says why the rule can't tell: counted, and printed by `--explain-silence`. */
  silent(reason: string): void;
  /** Work shared between rules of one check (shapes, plans), made once by `make`, by key. */
  shared<T>(key: symbol, make: () => T): T;
  /** What was found by going through functions, by the first of them: kept over edits elsewhere. */
  lasting<T extends { readonly reached: ReadonlySet<FunctionId> }>(key: symbol): Map<FunctionId, T>;
  /** Asked in long work; throws when nobody wants the answer any more. */
  readonly look?: () => void;
}

/** Source with carets under the expected findings (`//     ^^^ error: text`), and source that must stay silent. */
export interface Cases {
  readonly bad: readonly string[];
  readonly good: readonly string[];
}

export interface Rule {
  readonly id: string;
  readonly severity: Severity;
  /** One line for tables. */
  readonly summary: string;
  /** For people: what it means, why it matters, what to do. */
  readonly docs: string;
  check(context: RuleContext): Iterable<Finding>;
}
