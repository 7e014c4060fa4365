/**
 * One program's lowered files and walks, kept by the versions of what they were made from.
 *
 * A lowered file depends on its text and on the texts of what it imports (types); a walk of a file on every file whose
 * functions it entered. After an edit, only what depends on the edited file is made again.
 * Depends on: parts, program, lower, flow, libraries.
 */
import { Collector, factsOf } from '../flow/collector.ts';
import { walkLeftovers, walkUnit } from '../flow/entries.ts';
import type { Facts } from '../flow/facts.ts';
import type { LibraryModel } from '../libraries/model.ts';
import { fileOf, isWithin, type FunctionId, type Project, type Unit } from '../lower/ir.ts';
import { createNaming } from '../lower/naming.ts';
import type { LoweringInput } from '../lower/lower.ts';
import { relower, type Lowered } from '../lower/relower.ts';
import type { Texts } from '../program/host.ts';
import { importsOf } from '../program/imports.ts';
import { createProgram, type Registry, type TypedProgram, type TypeFacts } from '../program/program.ts';
import { reachable } from '../program/reach.ts';
import { collectGarbage } from './garbage.ts';
import { connected, newPart, projectOf, type Part, type Reaching } from './parts.ts';

/** How long work goes on: both throw when it is no longer wanted. */
export interface Turns {
  /** Lets others work. */
  pause(): Promise<void>;
  /** Only looks: cheap enough for every few steps. */
  look(): void;
}

const sliceMs = 8;

export interface Snapshot {
  readonly project: Project;
  readonly facts: Facts;
  /** The files that a file is connected with by imports, either way, with the work that rules share on them. */
  part(file: string): Part;
  /** An internal fault: counted, never shown as a finding. */
  fault(where: string, error: unknown): void;
  readonly faults: readonly { readonly where: string; readonly error: unknown }[];
}

/** `key` names the state of the files that the walk came by. */
interface KeptWalk {
  readonly collector: Collector;
  readonly key: string;
  readonly files: readonly string[];
}

const filesOf = (unit: Unit, { visited, consulted }: Collector): readonly string[] => [
  ...new Set([unit.file, ...consulted, ...[...visited].map(fileOf)]),
];

export class Store {
  private readonly texts: Texts;
  private readonly models: readonly LibraryModel[];
  private readonly program: TypedProgram;
  private readonly units = new Map<
    string,
    { readonly key: string; readonly others: number; readonly lowered: Lowered; readonly unit: Unit }
  >();
  /** Files of the last snapshot; `others` counts up when something they import, directly or not, has changed. */
  private readonly seen = new Map<
    string,
    { readonly version: string; readonly world: string; readonly targets: readonly string[]; readonly others: number }
  >();
  private readonly walks = new Map<string, KeptWalk>();
  private readonly leftovers = new Map<string, KeptWalk>();
  private parts: ReadonlyMap<string, Part> = new Map();
  private readonly lasting = new Map<symbol, Map<FunctionId, Reaching>>();
  /** The snapshot that is being made: units are changed in place, so the next waits for it. */
  private making: Promise<unknown> = Promise.resolve();
  private last: { readonly revision: string; readonly snapshot: Snapshot } | undefined;
  /** Files that somebody has asked for. */
  private readonly wanted = new Set<string>();
  private lettingGo = false;
  private generation = 0;
  private changes = 0;
  private files = 0;

  constructor(texts: Texts, registry: Registry, config: string | undefined, models: readonly LibraryModel[]) {
    this.texts = texts;
    this.models = models;
    this.program = createProgram(texts, registry, config);
  }

  add(file: string): void {
    if (this.program.roots.has(file)) return;
    this.program.add(file);
    this.generation++;
  }

  /** The next snapshot is the last that asks for types: they are let go before the walks. */
  letGo(): void {
    this.last = undefined;
    this.lettingGo = true;
  }

  reload(): void {
    this.program.reload();
    this.generation++;
  }

  /** The state of things now; at least `wanted` and what they reach is analysed. Good until the next one is asked for. */
  async snapshot(turns: Turns, wanted: readonly string[]): Promise<Snapshot> {
    const made = this.making.then(() => this.make(turns, wanted));
    this.making = made.catch(() => undefined);
    return made;
  }

  private async make(turns: Turns, wanted: readonly string[]): Promise<Snapshot> {
    turns.look();
    const revision = `${this.texts.revision}:${this.generation}`;
    if (
      this.last?.revision === revision &&
      wanted.every((file) => this.last!.snapshot.project.units.has(file) || !this.program.roots.has(file))
    )
      return this.last.snapshot;
    const faults: { where: string; error: unknown }[] = [];
    for (const file of wanted) this.wanted.add(file);
    const { units, imports } = await this.lowered(turns, faults);
    if (this.lettingGo) collectGarbage();
    const project = projectOf(units);
    const collectors = await this.walkAll(project, turns, faults);
    const parts = this.partsOf(units, imports);
    const snapshot: Snapshot = {
      project,
      facts: factsOf(project, new Set([...parts.values()].map((part) => part.project)), collectors, turns.look),
      part: (file) => parts.get(file) ?? newPart(project, this.lastingOf),
      fault: (where, error) => void faults.push({ where, error }),
      faults,
    };
    this.last = { revision, snapshot };
    return snapshot;
  }

  /** Apart from what follows, so that nothing holds the types any more when they are let go. */
  private async lowered(turns: Turns, faults: { where: string; error: unknown }[]): ReturnType<Store['lowerAll']> {
    const facts = this.program.facts(this.wanted);
    await turns.pause();
    const lowered = await this.lowerAll(facts, turns, faults);
    if (this.lettingGo) this.program.dispose();
    return lowered;
  }

  private async lowerAll(
    facts: TypeFacts,
    { pause, look }: Turns,
    faults: { where: string; error: unknown }[],
  ): Promise<{ readonly units: ReadonlyMap<string, Unit>; readonly imports: ReadonlyMap<string, readonly string[]> }> {
    const naming = createNaming(facts);
    const sources = facts.program.getSourceFiles().filter((source) => facts.isOwn(source));
    const ready = this.lowerEdited({ facts, models: this.models, naming, look }, sources);
    const { imports, usedBy } = this.connections(facts, sources, look);
    const units = new Map<string, Unit>();
    // Only what imports a file that somebody asked for, and what those import, can matter to it.
    const needed = reachable(reachable(this.wanted, usedBy), imports);
    let started = performance.now();
    for (const source of sources) {
      if (!needed.has(source.fileName)) continue;
      const { version, others } = this.seen.get(source.fileName)!;
      const key = `${version} ${others}`;
      const known = this.units.get(source.fileName);
      if (known?.key === key) {
        units.set(source.fileName, known.unit);
        continue;
      }
      try {
        const before = known?.others === others ? known.lowered : undefined;
        const lowered =
          ready?.unit.file === source.fileName
            ? ready
            : relower({ facts, models: this.models, naming, look }, source, before, this.texts.isOpen(source.fileName));
        this.keep(key, others, lowered);
        units.set(source.fileName, lowered.unit);
      } catch (error) {
        look();
        faults.push({ where: `lower ${source.fileName}`, error });
      }
      if (performance.now() - started > sliceMs) {
        await pause();
        started = performance.now();
      }
    }
    for (const file of [...this.units.keys()])
      if (!units.has(file)) {
        this.units.delete(file);
        this.forget(undefined);
      }
    return { units, imports };
  }

  private keep(key: string, others: number, lowered: Lowered): void {
    this.units.set(lowered.unit.file, { key, others, lowered, unit: lowered.unit });
    this.forget(lowered.inLine === true ? lowered.changed : undefined);
  }

  /**
   * Where one file has changed, as in typing, it is lowered first: when all but the body of a function is as it was, nothing
   * has changed for the files that import it.
   */
  private lowerEdited(input: LoweringInput, sources: readonly Parameters<typeof importsOf>[1][]): Lowered | undefined {
    const { facts } = input;
    if (sources.length !== this.seen.size) return undefined;
    const changed = sources.filter(({ fileName }) => this.seen.get(fileName)?.version !== facts.version(fileName));
    const source = changed.length === 1 ? changed[0]! : undefined;
    const seen = source === undefined ? undefined : this.seen.get(source.fileName);
    const known = source === undefined ? undefined : this.units.get(source.fileName);
    if (source === undefined || seen === undefined || known?.key !== `${seen.version} ${seen.others}`) return undefined;
    if (!this.texts.isOpen(source.fileName) || seen.world !== this.world) return undefined;
    if (importsOf(facts, source).join() !== seen.targets.join()) return undefined;
    let lowered: Lowered;
    try {
      lowered = relower(input, source, known.lowered);
    } catch {
      // Met again, and noted, where all are lowered; or nobody wants the answer any more.
      input.look?.();
      return undefined;
    }
    if (lowered.changed === undefined) return lowered;
    const version = facts.version(source.fileName);
    this.seen.set(source.fileName, { ...seen, version });
    this.keep(`${version} ${seen.others}`, seen.others, lowered);
    return lowered;
  }

  /** What decides where imports lead, besides the text: the configuration, and which files there are. */
  private get world(): string {
    return `${this.generation}:${this.files}`;
  }

  /** What came by a function that has changed is not known any more; nothing is, where more than one function may have changed. */
  private forget(changed: FunctionId | undefined): void {
    if (changed === undefined) return this.lasting.clear();
    for (const known of this.lasting.values())
      for (const [root, { reached }] of known) if ([...reached].some((id) => isWithin(id, changed))) known.delete(root);
  }

  private readonly lastingOf = <T extends Reaching>(key: symbol): Map<FunctionId, T> => {
    const known = this.lasting.get(key) ?? new Map<FunctionId, Reaching>();
    this.lasting.set(key, known);
    return known as Map<FunctionId, T>;
  };

  /** Who imports whom; notes which files have changed, and which have changed for others through their imports. */
  private connections(
    facts: TypeFacts,
    sources: readonly Parameters<typeof importsOf>[1][],
    look: () => void,
  ): { readonly imports: ReadonlyMap<string, readonly string[]>; readonly usedBy: ReadonlyMap<string, readonly string[]> } {
    const imports = new Map<string, readonly string[]>();
    const usedBy = new Map<string, string[]>();
    const changed = new Set<string>();
    const entered = new Set<string>();
    const names = new Set(sources.map(({ fileName }) => fileName));
    // Where an import leads may change with any file that comes or goes.
    if (names.size !== this.seen.size || sources.some(({ fileName }) => !this.seen.has(fileName))) this.files++;
    const { world } = this;
    for (const file of [...this.seen.keys()]) if (!names.has(file)) this.seen.delete(file);
    for (const source of sources) {
      const { fileName } = source;
      const version = facts.version(fileName);
      const before = this.seen.get(fileName);
      look();
      const same = before?.version === version && before.world === world;
      const targets = same ? before.targets : importsOf(facts, source);
      imports.set(fileName, targets);
      for (const target of targets) {
        const users = usedBy.get(target);
        if (users === undefined) usedBy.set(target, [fileName]);
        else users.push(fileName);
      }
      if (before === undefined) entered.add(fileName);
      if (before?.version !== version || before.targets.join() !== targets.join()) changed.add(fileName);
      this.seen.set(fileName, { version, world, targets, others: before?.others ?? 0 });
    }
    // What a changed file says to those that import it may be another thing now; so may what one that came in has missed.
    const others = new Set(reachable([...entered, ...[...changed].flatMap((file) => usedBy.get(file) ?? [])], usedBy));
    if (others.size > 0) this.changes++;
    for (const file of others) if (imports.has(file)) this.seen.set(file, { ...this.seen.get(file)!, others: this.changes });
    return { imports, usedBy };
  }

  /** A part is kept while none of its files changed, with what was worked out on it. */
  private partsOf(units: ReadonlyMap<string, Unit>, imports: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, Part> {
    const parts = new Map<string, Part>();
    const kept = new Map<string, Part>();
    for (const files of connected([...units.keys()], imports)) {
      const key = files.map((file) => `${file}@${this.units.get(file)?.key ?? ''}`).join(' ');
      const part =
        this.parts.get(key) ?? newPart(projectOf(new Map(files.map((file) => [file, units.get(file)!] as const))), this.lastingOf);
      kept.set(key, part);
      for (const file of files) parts.set(file, part);
    }
    this.parts = kept;
    return parts;
  }

  private async walkAll(
    project: Project,
    { pause, look }: Turns,
    faults: { where: string; error: unknown }[],
  ): Promise<readonly Collector[]> {
    const running = { models: this.models, look };
    const collectors: Collector[] = [];
    const versionOf = (file: string): string => `${file}@${this.units.get(file)?.key ?? ''}`;
    let started = performance.now();
    const drive = async (entries: Iterable<FunctionId>, where: string): Promise<void> => {
      try {
        for (const _ of entries) {
          if (performance.now() - started > sliceMs) {
            await pause();
            started = performance.now();
          }
        }
      } catch (error) {
        look();
        faults.push({ where, error });
      }
    };
    for (const unit of project.units.values()) {
      const known = this.walks.get(unit.file);
      if (known !== undefined && known.key === known.files.map(versionOf).join(' ')) {
        collectors.push(known.collector);
        continue;
      }
      const { collector, entries } = walkUnit(project, unit, running);
      await drive(entries, `walk ${unit.file}`);
      const files = filesOf(unit, collector);
      this.walks.set(unit.file, { collector, files, key: files.map(versionOf).join(' ') });
      collectors.push(collector);
    }
    const visited = new Set(collectors.flatMap((collector) => [...collector.visited]));
    const created = new Set(collectors.flatMap((collector) => [...collector.created]));
    for (const unit of project.units.values()) {
      const left = `${[...unit.functions.keys()].filter((id) => visited.has(id)).length} ${[...visited].length}`;
      const known = this.leftovers.get(unit.file);
      if (known !== undefined && known.key === `${known.files.map(versionOf).join(' ')} ${left}`) {
        collectors.push(known.collector);
        continue;
      }
      const { collector, entries } = walkLeftovers(project, unit, visited, created, running);
      await drive(entries, `walk the rest of ${unit.file}`);
      const files = filesOf(unit, collector);
      this.leftovers.set(unit.file, { collector, files, key: `${files.map(versionOf).join(' ')} ${left}` });
      collectors.push(collector);
    }
    for (const file of [...this.walks.keys()]) if (!project.units.has(file)) this.walks.delete(file);
    for (const file of [...this.leftovers.keys()]) if (!project.units.has(file)) this.leftovers.delete(file);
    return collectors;
  }
}
