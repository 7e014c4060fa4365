/**
 * The open files of an editor: what analysis says about each, what was measured, and the queue that keeps findings fresh.
 *
 * A change marks files dirty; once the person pauses, findings are computed file by file, the changed one first, and
 * pushed with the version they belong to. A further change cancels what runs. Requests (lenses, hints, fixes) are answered
 * from the last good view. Depends on: sources, measurements, view, program/outline.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { outline, type OutlinedFunction } from '../program/outline.ts';
import type { Diagnostic, FunctionFact, ServerSettings } from '../protocol.ts';
import { mentionsKnownModule } from './array-use.ts';
import { fileOf, uriOf } from './convert.ts';
import { placed, type Measurement, type PlacedFile } from './measurements.ts';
import type { Analysis, CancelToken, Sources } from './sources.ts';
import { settingsOf, type View } from './view.ts';

/** A pause this long in typing starts the analysis. */
const pauseMs = 80;

export interface SessionEvents {
  readonly findings: (uri: string, version: number, diagnostics: readonly Diagnostic[]) => void;
  /** Lenses, hints and marks are to be asked for again. */
  readonly refresh: () => void;
  readonly busy: (busy: boolean) => void;
  readonly fault: (where: string, error: unknown) => void;
}

interface OpenFile {
  readonly document: TextDocument;
  readonly file: string;
  diagnostics: readonly Diagnostic[];
  functions: readonly FunctionFact[];
  /** Version that the two above belong to; undefined before the first analysis. */
  analysed: number | undefined;
  outlined: { readonly text: string; readonly functions: readonly OutlinedFunction[] } | undefined;
  placed: { readonly text: string; readonly measurement: Measurement; readonly value: PlacedFile | undefined } | undefined;
}

export class Session {
  readonly #sources: Sources;
  readonly #events: SessionEvents;
  readonly #open = new Map<string, OpenFile>();
  readonly #analyses = new Map<string, Promise<Analysis>>();
  readonly #settings = new Map<string, ServerSettings>();
  readonly #dirty = new Set<string>();
  /** The text of each open file that analysis has: telling it again would count as a change. */
  readonly #told = new Map<string, string>();
  #folders: readonly string[] = [];
  #defaults: ServerSettings = {};
  #timer: NodeJS.Timeout | undefined;
  #running: Cancellation | undefined;
  #measurement: Measurement | undefined;
  #notReached: ReadonlySet<string> = new Set();

  constructor(sources: Sources, events: SessionEvents) {
    this.#sources = sources;
    this.#events = events;
  }

  get measurement(): Measurement | undefined {
    return this.#measurement;
  }

  get openFiles(): readonly string[] {
    return [...this.#open.values()].map(({ file }) => file);
  }

  get findings(): number {
    return [...this.#open.values()].reduce((sum, { diagnostics }) => sum + diagnostics.length, 0);
  }

  setFolders(folders: readonly string[]): void {
    this.#folders = folders;
  }

  /** The workspace folder of a file; its own folder when it lies in none. */
  folderOf(file: string): string {
    const inside = this.#folders.filter((folder) => file === folder || file.startsWith(folder + path.sep));
    return inside.sort((a, b) => b.length - a.length)[0] ?? path.dirname(file);
  }

  setSettings(folder: string | undefined, settings: ServerSettings): void {
    if (folder === undefined) this.#defaults = settings;
    else this.#settings.set(folder, settings);
    for (const [at, analysis] of this.#analyses)
      void analysis.then(
        (one) => one.setSettings(this.settingsFor(at)),
        () => undefined,
      );
    this.#allDirty();
  }

  settingsFor(file: string): ServerSettings {
    return this.#settings.get(this.folderOf(file)) ?? this.#defaults;
  }

  open(document: TextDocument): void {
    const file = fileOf(document.uri);
    this.#open.set(document.uri, {
      document,
      file,
      diagnostics: [],
      functions: [],
      analysed: undefined,
      outlined: undefined,
      placed: undefined,
    });
    this.#textChanged(document.uri);
  }

  change(document: TextDocument): void {
    if (this.#open.has(document.uri)) this.#textChanged(document.uri);
  }

  close(uri: string): void {
    const open = this.#open.get(uri);
    if (open === undefined) return;
    this.#open.delete(uri);
    this.#dirty.delete(uri);
    this.#told.delete(open.file);
    void this.#analysisOf(open.file).then((analysis) => analysis?.setText(open.file, undefined));
    this.#events.findings(uri, open.document.version, []);
    this.#allDirty();
  }

  filesChanged(files: readonly string[]): void {
    for (const analysis of this.#analyses.values())
      void analysis.then(
        (one) => one.filesChanged(files),
        () => undefined,
      );
    this.#allDirty();
  }

  setMeasurement(measurement: Measurement | undefined, notReached: ReadonlySet<string>): void {
    this.#measurement = measurement;
    this.#notReached = notReached;
    this.#events.refresh();
  }

  /** Whether the last run is out of date for any open file. */
  get stale(): boolean {
    return [...this.#open.keys()].some((uri) => this.view(uri)?.placed?.changed === true);
  }

  view(uri: string): View | undefined {
    const open = this.#open.get(uri);
    if (open === undefined) return undefined;
    const text = open.document.getText();
    return {
      file: open.file,
      uri,
      text,
      version: open.document.version,
      usesArrays: open.functions.length > 0 || mentionsKnownModule(text),
      outline: this.#outlineOf(open, text),
      functions: open.functions,
      diagnostics: open.diagnostics,
      measurement: this.#measurement,
      placed: this.#placedOf(open, text),
      notReached: this.#notReached,
      settings: settingsOf(this.settingsFor(open.file)),
    };
  }

  /** The view once its findings belong to the present text. */
  async freshView(token: CancelToken, uri: string): Promise<View | undefined> {
    const open = this.#open.get(uri);
    if (open === undefined) return undefined;
    if (open.analysed !== open.document.version) await this.#analyse(token, uri);
    return this.view(uri);
  }

  async ask<T>(uri: string, question: (analysis: Analysis, file: string) => Promise<T>): Promise<T | undefined> {
    const open = this.#open.get(uri);
    const analysis = open === undefined ? undefined : await this.#analysisOf(open.file);
    if (open === undefined || analysis === undefined) return undefined;
    this.#tellText(analysis, open.file, open.document.getText());
    return question(analysis, open.file);
  }

  /** As `ask`, of a file that need not be open. */
  async askOfFile<T>(file: string, question: (analysis: Analysis, file: string) => Promise<T>): Promise<T | undefined> {
    const uri = uriOf(file);
    if (this.#open.has(uri)) return this.ask(uri, question);
    const analysis = await this.#analysisOf(file);
    return analysis === undefined ? undefined : question(analysis, file);
  }

  versionOf(file: string): number | null {
    return this.#open.get(uriOf(file))?.document.version ?? null;
  }

  /** What the disk holds of every open file: a measured program runs that, saved or not. */
  async textsOnDisk(files: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>();
    for (const file of files) {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text !== undefined) texts.set(file, text);
    }
    return texts;
  }

  /** Waits until nothing is dirty: tests and the first answer need it. */
  async settled(): Promise<void> {
    while (this.#timer !== undefined || this.#running !== undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running?.cancel();
    for (const analysis of this.#analyses.values()) {
      void analysis.then(
        (one) => one.dispose?.(),
        () => undefined,
      );
    }
  }

  #outlineOf(open: OpenFile, text: string): readonly OutlinedFunction[] {
    if (open.outlined?.text !== text) open.outlined = { text, functions: outline(open.file, text) };
    return open.outlined!.functions;
  }

  #placedOf(open: OpenFile, text: string): PlacedFile | undefined {
    const measurement = this.#measurement;
    if (measurement === undefined) return undefined;
    if (open.placed?.text !== text || open.placed.measurement !== measurement) {
      open.placed = { text, measurement, value: placed(measurement, open.file, text) };
    }
    return open.placed!.value;
  }

  #tellText(analysis: Analysis, file: string, text: string): void {
    if (this.#told.get(file) === text) return;
    this.#told.set(file, text);
    analysis.setText(file, text);
  }

  #textChanged(uri: string): void {
    const { file, document } = this.#open.get(uri)!;
    const text = document.getText();
    void this.#analysisOf(file).then((analysis) => {
      if (analysis !== undefined && this.#open.get(uri)?.document.getText() === text) this.#tellText(analysis, file, text);
    });
    // The changed file first; others may depend on it.
    this.#dirty.delete(uri);
    const others = [...this.#dirty];
    this.#dirty.clear();
    for (const one of [uri, ...others, ...this.#open.keys()]) this.#dirty.add(one);
    this.#schedule();
  }

  #allDirty(): void {
    for (const uri of this.#open.keys()) this.#dirty.add(uri);
    this.#schedule();
  }

  #schedule(): void {
    this.#running?.cancel();
    clearTimeout(this.#timer);
    this.#timer = this.#dirty.size === 0 ? undefined : setTimeout(() => void this.#work(), pauseMs);
  }

  async #work(): Promise<void> {
    this.#timer = undefined;
    const token = new Cancellation();
    this.#running = token;
    this.#events.busy(true);
    for (const uri of [...this.#dirty]) {
      if (token.isCancelled) break;
      const done = await this.#analyse(token, uri);
      if (done) this.#dirty.delete(uri);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (this.#running !== token) return;
    this.#running = undefined;
    this.#events.busy(false);
    if (!token.isCancelled) this.#events.refresh();
  }

  /** True when the findings of the file are those of its present text. */
  async #analyse(token: CancelToken, uri: string): Promise<boolean> {
    const open = this.#open.get(uri);
    if (open === undefined) return true;
    const { version } = open.document;
    try {
      const analysis = await this.#analysisOf(open.file);
      if (analysis === undefined) return true;
      this.#tellText(analysis, open.file, open.document.getText());
      const diagnostics = await analysis.diagnostics(token, open.file);
      const isPresent = (): boolean => !token.isCancelled && open.document.version === version;
      if (!isPresent()) return false;
      // Findings don't wait for what is only shown above functions.
      open.diagnostics = diagnostics;
      this.#events.findings(uri, version, diagnostics);
      const functions = await analysis.functions(token, open.file);
      if (!isPresent()) return false;
      open.functions = functions;
      open.analysed = version;
      return true;
    } catch (error) {
      if (!token.isCancelled) this.#events.fault(`analysis of ${path.basename(open.file)}`, error);
      return !token.isCancelled;
    }
  }

  async #analysisOf(file: string): Promise<Analysis | undefined> {
    const folder = this.folderOf(file);
    let analysis = this.#analyses.get(folder);
    if (analysis === undefined) {
      if (this.#sources.analysis === undefined) return undefined;
      analysis = this.#sources.analysis(folder).then((one) => {
        one.setSettings(this.settingsFor(folder));
        return one;
      });
      this.#analyses.set(folder, analysis);
      analysis.catch((error: unknown) => this.#events.fault(`analysis of ${folder}`, error));
    }
    return analysis.catch(() => undefined);
  }
}

/** A token that its owner cancels. */
export class Cancellation implements CancelToken {
  readonly #listeners: (() => void)[] = [];
  #cancelled = false;

  get isCancelled(): boolean {
    return this.#cancelled;
  }

  onCancel(listener: () => void): void {
    if (this.#cancelled) listener();
    else this.#listeners.push(listener);
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    for (const listener of this.#listeners) listener();
  }
}
