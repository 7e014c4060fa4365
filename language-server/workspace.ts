/**
 * The analysis of one folder: takes changes of texts, answers with findings and facts of functions.
 *
 * Files belong to the TypeScript program of their nearest tsconfig. Lowered files and walks are kept by the versions of
 * what they were made from, so an edit redoes only what can see it. Work yields between slices; a newer change cancels it.
 * Depends on: program, lower, flow, memory, rules, edits, config, protocol.
 */
import { dirname, relative, resolve, sep } from 'node:path';
import { readConfig, bytesOf, type Config } from './config.ts';
import { fixOf } from './edits/fixes.ts';
import { Store, type Snapshot, type Turns } from './workspace/snapshots.ts';
import { models as builtIn } from './libraries/index.ts';
import { configOf, createTexts, isSource, sourcesUnder } from './program/host.ts';
import { createRegistry } from './program/program.ts';
import type {
  CheckReport,
  Diagnostic,
  Explanation,
  FunctionFact,
  Life,
  Occurrence,
  Position,
  ServerSettings,
  Severity,
  SeveritySetting,
  Silence,
} from './protocol.ts';
import { analysisOf, type Analysis } from './memory/analysis.ts';
import { formulas } from './memory/formulas.ts';
import type { Span, Unit } from './lower/ir.ts';
import { reported, staticPeaks } from './memory/peak.ts';
import { placeIn, positionIn } from './workspace/positions.ts';
import { rules as allRules } from './rules/index.ts';
import type { Settings } from './rules/rule.ts';
import { runRules, type Reported } from './workspace/run-rules.ts';
import { hoverAt } from './workspace/array-hover.ts';
import { lifeAt } from './workspace/array-life.ts';
import { silenceList, silentFrees } from './workspace/silence.ts';
import { occurrencesAt } from './workspace/occurrences.ts';
import { compiledFact, explainFunction } from './workspace/explained.ts';

export interface CancelToken {
  readonly isCancelled: boolean;
}

const never: CancelToken = { isCancelled: false };

/** Work that a newer change made pointless. */
export class Cancelled extends Error {
  constructor() {
    super('cancelled');
  }
}

export interface CheckOptions {
  readonly rules?: Readonly<Record<string, SeveritySetting>>;
  readonly explainSilence?: boolean;
  /** Whether to say what is known of each function besides (default true). */
  readonly functions?: boolean;
}

export interface WorkspaceOptions {
  readonly cwd: string;
  /** The tsconfig to use for all files, instead of each file's nearest. */
  readonly project?: string;
  /** One check is all that is asked: types are let go once the files are lowered. */
  readonly once?: boolean;
}

export interface Workspace {
  setText(file: string, text: string | undefined): void;
  filesChanged(files: readonly string[]): void;
  setSettings(settings: ServerSettings): void;
  diagnostics(token: CancelToken, file: string): Promise<readonly Diagnostic[]>;
  functions(token: CancelToken, file: string): Promise<readonly FunctionFact[]>;
  hover(token: CancelToken, file: string, position: Position): Promise<string | undefined>;
  life(token: CancelToken, file: string, position: Position): Promise<Pick<Life, 'name' | 'ranges'> | undefined>;
  /** Where the array at a place is named; undefined when there is none. */
  occurrences(token: CancelToken, file: string, position: Position): Promise<readonly Occurrence[] | undefined>;
  /** A compiled function stage by stage, from its text alone; undefined when there is none of that name or line. */
  explain(token: CancelToken, file: string, wanted: { readonly name: string; readonly line: number }): Promise<Explanation | undefined>;
  check(paths: readonly string[], options?: CheckOptions): Promise<CheckReport>;
  /** Mistakes in `tidemark.json`, in words. */
  readonly configFaults: readonly string[];
}

export const rules = allRules.map(({ id, severity, summary, docs }) => ({ id, severity, summary, docs: docs.trim() }));

export function createWorkspace(options: WorkspaceOptions): Workspace {
  const cwd = resolve(options.cwd);
  const texts = createTexts();
  const registry = createRegistry();
  const stores = new Map<string, Store>();
  let config: Config = readConfig(cwd);
  let settings: ServerSettings = {};

  const storeOf = (file: string): Store => {
    const tsconfig = options.project === undefined ? configOf(file) : resolve(cwd, options.project);
    const key = tsconfig ?? `${dirname(file)}${sep}`;
    const known = stores.get(key);
    if (known !== undefined) return known;
    const made = new Store(texts, registry, tsconfig, [...config.libraries, ...builtIn]);
    stores.set(key, made);
    return made;
  };

  const settingsNow = (): Settings => {
    const budgetBytes = bytesOf(settings.memoryBudget) ?? config.budgetBytes;
    return {
      minBytes: settings.minBytes ?? config.minBytes ?? 1024 * 1024,
      assume: config.assume,
      ...(budgetBytes === undefined ? {} : { budgetBytes }),
    };
  };

  const severityOf =
    (override: Readonly<Record<string, SeveritySetting>>) =>
    (rule: string, own: Severity): SeveritySetting =>
      override[rule] ?? settings.rules?.[rule] ?? config.rules[rule] ?? own;

  const render = (file: string, findings: readonly Reported[], naming: (file: string) => string): readonly Diagnostic[] => {
    const textOf = (name: string): string | undefined => texts.read(name);
    return findings.map(({ finding, rule, severity }): Diagnostic => {
      const { start, end } = placeIn(texts, finding.span);
      return {
        file: naming(file),
        line: start.line,
        column: start.column,
        endLine: end.line,
        endColumn: end.column,
        rule,
        severity,
        message: finding.message,
        savesBytes: finding.savesBytes ?? null,
        related: finding.notes.map((note) => {
          const at = placeIn(texts, note.span);
          return {
            file: naming(note.span.file),
            line: at.start.line,
            column: at.start.column,
            endLine: at.end.line,
            endColumn: at.end.column,
            message: note.text,
          };
        }),
        fixes: finding.intents.map((intent) => {
          const fix = fixOf(intent, textOf);
          return { ...fix, edits: fix.edits.map((edit) => ({ ...edit, file: naming(edit.file) })) };
        }),
      };
    });
  };

  const turns = (token: CancelToken): Turns => {
    const look = (): void => {
      if (token.isCancelled) throw new Cancelled();
    };
    return {
      look,
      async pause() {
        await new Promise<void>((done) => setImmediate(done));
        look();
      },
    };
  };

  const findingsOf = async (
    store: Store,
    file: string,
    token: CancelToken,
    override: Readonly<Record<string, SeveritySetting>>,
    silences: Map<string, number> | undefined,
  ): Promise<readonly Reported[]> => {
    const snapshot = await store.snapshot(turns(token), [file]);
    const unit = snapshot.project.units.get(file);
    return unit === undefined ? [] : runRules(snapshot, unit, settingsNow(), severityOf(override), silences, turns(token).look);
  };

  const functionsOf = async (
    store: Store,
    file: string,
    token: CancelToken,
    naming: (file: string) => string,
  ): Promise<readonly FunctionFact[]> => {
    const snapshot = await store.snapshot(turns(token), [file]);
    const unit = snapshot.project.units.get(file);
    if (unit === undefined || unit.libraries.size === 0) return [];
    const { look } = turns(token);
    try {
      const analysis = analysisOf({ ...snapshot.part(file), unit, look });
      const peaks = staticPeaks(unit, analysis, settingsNow().budgetBytes);
      const known = peaks.flatMap(({ function: fn, bytes }) => (typeof bytes === 'number' && bytes > 0 ? [[fn.id, bytes] as const] : []));
      const named = formulas(snapshot.project, unit, new Map(known), look);
      return peaks.map(({ function: fn, bytes, at, fits }) => {
        const { start, end } = placeIn(texts, fn.span);
        return {
          file: naming(file),
          name: fn.name,
          line: start.line,
          column: start.column,
          endLine: end.line,
          ...(at?.file === file ? { peakLine: placeIn(texts, at).start.line } : {}),
          ...reported(bytes, named.get(fn.id), config.assume),
          ...(fits === undefined ? {} : { fits }),
          ...compiledFact(analysis, fn.id),
        };
      });
    } catch (error) {
      look();
      snapshot.fault('memory', error);
      return [];
    }
  };

  const walked = (snapshot: Snapshot, unit: Unit): Analysis | undefined => {
    try {
      return analysisOf({ ...snapshot.part(unit.file), unit });
    } catch (error) {
      snapshot.fault('memory', error);
      return undefined;
    }
  };

  const same = (file: string): string => file;

  return {
    setText(file, text) {
      if (text === undefined) texts.close(file);
      else texts.open(file, text);
    },
    filesChanged(files) {
      texts.forget(files);
      if (files.some((file) => /tsconfig.*\.json$|jsconfig\.json$|package\.json$/.test(file) || !texts.exists(file) || isSource(file)))
        for (const store of stores.values()) store.reload();
      if (files.some((file) => file.endsWith('tidemark.json'))) {
        config = readConfig(cwd);
        stores.clear();
      }
    },
    setSettings(next) {
      settings = next;
    },
    async diagnostics(token, file) {
      const store = storeOf(file);
      store.add(file);
      return render(file, await findingsOf(store, file, token, {}, undefined), same);
    },
    async functions(token, file) {
      const store = storeOf(file);
      store.add(file);
      return functionsOf(store, file, token, same);
    },
    async hover(token, file, position) {
      const store = storeOf(file);
      store.add(file);
      const snapshot = await store.snapshot(turns(token), [file]);
      const unit = snapshot.project.units.get(file);
      if (unit === undefined) return undefined;
      const context = {
        project: snapshot.project,
        unit,
        lineOf: (span: Span) => placeIn(texts, span).start.line,
        analysis: () => walked(snapshot, unit),
      };
      return hoverAt(context, positionIn(unit, position));
    },
    async explain(token, file, wanted) {
      const store = storeOf(file);
      store.add(file);
      const snapshot = await store.snapshot(turns(token), [file]);
      const unit = snapshot.project.units.get(file);
      const analysis = unit === undefined ? undefined : walked(snapshot, unit);
      return unit === undefined || analysis === undefined ? undefined : explainFunction(snapshot.project, unit, analysis, wanted);
    },
    async life(token, file, position) {
      const store = storeOf(file);
      store.add(file);
      const snapshot = await store.snapshot(turns(token), [file]);
      const unit = snapshot.project.units.get(file);
      return unit === undefined
        ? undefined
        : lifeAt(unit, positionIn(unit, position), texts.read(file) ?? '', (span) => placeIn(texts, span));
    },
    async occurrences(token, file, position) {
      const store = storeOf(file);
      store.add(file);
      const snapshot = await store.snapshot(turns(token), [file]);
      const unit = snapshot.project.units.get(file);
      const found = unit === undefined ? undefined : occurrencesAt(unit, positionIn(unit, position), texts.read(file) ?? '');
      return found?.map(({ span, writes }) => ({ ...placeIn(texts, span), writes }));
    },
    async check(paths, { rules: override = {}, explainSilence = false, functions: withFunctions = true } = {}) {
      const files = [...new Set(paths.flatMap((path) => sourcesUnder(resolve(cwd, path))))].sort();
      const byStore = new Map<Store, string[]>();
      for (const file of files) {
        const store = storeOf(file);
        store.add(file);
        byStore.set(store, [...(byStore.get(store) ?? []), file]);
      }
      const naming = (file: string): string => {
        const name = relative(cwd, file);
        return sep === '/' ? name : name.split(sep).join('/');
      };
      const diagnostics: Diagnostic[] = [];
      const functions: FunctionFact[] = [];
      const silences = new Map<string, number>();
      const frees: Silence[] = [];
      const misread: NonNullable<CheckReport['misread']>[number][] = [];
      const last = [...byStore.keys()].at(-1);
      for (const [store, list] of byStore) {
        // The trees that stores share, as those of the language's own declarations, go with the last.
        if (options.once === true && store === last) store.letGo();
        await store.snapshot(turns(never), list);
        for (const file of list) {
          diagnostics.push(...render(file, await findingsOf(store, file, never, override, silences), naming));
          if (withFunctions) functions.push(...(await functionsOf(store, file, never, naming)));
        }
        const { project, facts, faults } = await store.snapshot(turns(never), list);
        for (const file of list) {
          const fault = project.units.get(file)?.misread;
          if (fault === undefined) continue;
          const { start } = placeIn(texts, { file, start: fault.start, end: fault.start });
          misread.push({ file: naming(file), ...start, message: fault.message });
        }
        for (const [reason, count] of facts.silences) silences.set(reason, (silences.get(reason) ?? 0) + count);
        if (explainSilence)
          frees.push(...silentFrees(project, facts, (span) => ({ file: naming(span.file), ...placeIn(texts, span).start })));
        for (const { where, error } of faults) silences.set(`internal fault: ${where}: ${String(error)}`, 1);
      }
      return {
        version: 1,
        files: files.length,
        diagnostics,
        functions,
        ...(misread.length > 0 ? { misread } : {}),
        ...(explainSilence ? { silence: silenceList(silences, frees) } : {}),
      };
    },
    get configFaults() {
      return config.faults;
    },
  };
}
