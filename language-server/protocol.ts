/**
 * The plain values that cross a wire: between server and editor, between analysis, measurement and command line.
 *
 * Mirrors the JSON contracts of the command line, so that the report a person sees in CI is the report the editor
 * draws. Lines and columns count from 1, columns in UTF-16 units, ends are exclusive; `file` is relative to the working
 * directory in reports and absolute between server and editor. Unknown numbers are null. Readers ignore keys they do
 * not know. The one file of the server that the extension may import. Depends on: nothing.
 */
export type Severity = 'error' | 'warning' | 'info' | 'hint';
export type SeveritySetting = Severity | 'off';

export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Edit {
  readonly file: string;
  readonly start: Position;
  readonly end: Position;
  readonly newText: string;
}

export interface Fix {
  readonly title: string;
  /** Proven for every execution of the project: what `--fix` and fix-all apply. */
  readonly safe: boolean;
  readonly edits: readonly Edit[];
  /** Why this fix cannot be offered here; shown instead of applying it. */
  readonly disabled?: string;
}

export interface Related {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine?: number;
  readonly endColumn?: number;
  readonly message: string;
}

export interface Diagnostic {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  readonly savesBytes: number | null;
  readonly related: readonly Related[];
  readonly fixes: readonly Fix[];
}

/** A function or method that creates arrays or is compiled, by the name it is bound to (`step`, `Net.forward`). */
export type PlanBytes = 'argumentBytes' | 'outputBytes' | 'aliasBytes' | 'tempBytes';

export interface FunctionFact {
  readonly file: string;
  readonly name: string;
  /** Where its lens stands and how far it reaches; `endLine` absent when unknown. */
  readonly line: number;
  readonly column?: number;
  readonly endLine?: number;
  readonly staticPeakBytes: number | null;
  /** The formula in bytes: alone when a dimension has no value, beside the bytes where sizes have names and values. */
  readonly staticPeak: string | null;
  readonly peakLine?: number;
  /** Where a budget is set and the formula has one dimension: the largest that stays within it, 0 when none does. */
  readonly fits?: { readonly dimension: string; readonly most: number; readonly budgetBytes: number };
  /** Of a compiled function whose program is known from its text: how its values share memory, and what its bytes are for. */
  readonly compiled?: Readonly<Record<'values' | 'inPlace' | 'space' | 'copies' | 'copyBytes' | PlanBytes, number>>;
}

/** How often a rule stayed silent for a reason: where recall is. */
export interface Silence {
  readonly rule: string;
  readonly reason: string;
  readonly count: number;
  readonly places?: readonly ReportPlace[];
}

export interface CheckReport {
  readonly version: 1;
  readonly files?: number;
  readonly diagnostics: readonly Diagnostic[];
  readonly functions: readonly FunctionFact[];
  readonly silence?: readonly Silence[];
  /** Files with faults of syntax, each with its first: what is around it may be read wrongly. */
  readonly misread?: readonly (ReportPlace & { readonly message: string })[];
}

export interface ReportPlace {
  readonly file: string;
  readonly line: number;
  readonly column?: number;
}

export interface LineReport {
  readonly file: string;
  readonly line: number;
  readonly allocations: number;
  readonly allocatedBytes: number;
  readonly peakLiveBytes: number;
  readonly liveBytesAtPeak: number;
  /** The most that the whole program had in use right after an allocation of this line; absent when unknown. */
  readonly inUseBytes?: number;
}

export interface JitReport {
  readonly traces: number;
  readonly argumentBytes: number;
  readonly outputBytes: number;
  readonly aliasBytes: number;
  readonly tempBytes: number;
  readonly peakBytes: number;
  readonly lowerBoundBytes: number;
  readonly orderLowerBoundBytes: number | null;
  readonly gap: { readonly packing: number; readonly outputs: number; readonly copies: number };
  readonly copies: readonly { readonly bytes: number; readonly file: string; readonly line: number; readonly reason: string }[];
  readonly donated: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly outcome: 'aliased' | 'freedEarly' | 'unusable';
    readonly reason: string | null;
  }[];
  readonly whatIf: readonly { readonly donateArgnums: readonly number[]; readonly peakBytes: number }[];
}

export interface FunctionReport {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  readonly calls: number;
  readonly peakBytes: number;
  readonly enteredBytes: number;
  readonly jit: JitReport | null;
}

export interface LiveArray {
  readonly bytes: number;
  readonly shape: readonly number[] | null;
  readonly dtype: string | null;
  readonly kind: 'array' | 'temp' | 'buffer' | 'texture' | 'staging';
  readonly file: string;
  readonly line: number;
}

export interface LeakReport {
  readonly kind: 'collected' | 'unreachable' | 'growing';
  readonly bytes: number;
  readonly count: number;
  readonly file: string;
  readonly line: number;
}

export interface ProfileReport {
  readonly version: 1;
  readonly entry: string;
  readonly device: { readonly kind: string; readonly adapter: string; readonly software: boolean } | null;
  readonly peakBytes: number;
  readonly peakReservedBytes: number;
  readonly liveBytesAtExit: number;
  readonly peakAt: ReportPlace | null;
  readonly lines: readonly LineReport[];
  readonly functions: readonly FunctionReport[];
  readonly liveAtPeak: readonly LiveArray[];
  readonly leaks: readonly LeakReport[];
  readonly wallMs: number;
  readonly exitCode: number | null;
  /** Plain words about the run that people should read: software adapter, timeout, program that failed. */
  readonly notes?: readonly string[];
}

/* ---- Requests and notifications between the editor and the server ---------------------------------------------- */

/** What the person asked to run: the file, or a function in it; `entry` when another file is the one to start. */
export interface ProfileParams {
  readonly file: string;
  readonly function?: string;
  readonly entry?: string;
  readonly args?: readonly string[];
  /** The address of a page: opened in the person's Chrome and measured there, until its tab is closed or the run is cancelled. */
  readonly url?: string;
}

/** The program under one allocator; `fragmentation` is the share of what was reserved that no array was in. */
export interface AllocatorRun {
  readonly name: string;
  readonly allocator: 'bfc' | 'platform';
  readonly preallocate: boolean;
  readonly wallMs: number;
  readonly peakBytes: number;
  readonly peakReservedBytes: number;
  readonly fragmentation: number | null;
  readonly exitCode: number | null;
}

/** The runs that came about, and one sentence on what one pays for what. */
export interface AllocatorComparison {
  readonly state: ProfileOutcome['state'];
  readonly message: string | null;
  readonly entry: string;
  readonly runs: readonly AllocatorRun[];
  readonly tradeOff: string;
}

/** How a run ended. A run that failed half-way still has its report up to that point. */
export interface ProfileOutcome {
  readonly state: 'done' | 'failed' | 'timedOut' | 'cancelled' | 'refused';
  /** One sentence for people when the state is not `done`, or when the run deserves a remark. */
  readonly message: string | null;
  readonly report: ProfileReport | null;
  /** Where the profile was kept, as a `.tidemark` file. */
  readonly profileFile: string | null;
  /** The function asked for was never called. */
  readonly notReached: boolean;
}

/** A run that was kept when the server or the editor ended. */
export interface KeptRun {
  readonly report: ProfileReport;
  /** Epoch milliseconds. */
  readonly endedAt: number;
  readonly profileFile: string | null;
}

/** A line of text in the editor that carries a measured number, for decorations. Lines count from 1. */
export interface MeasuredMark {
  readonly line: number;
  readonly kind: 'peak' | 'leak' | 'stale';
  /** Text after the line, for numbers that are out of date; empty when the line only has a gutter mark. */
  readonly text: string;
  /** Markdown for the hover. */
  readonly hover: string;
}

export interface MarksParams {
  readonly uri: string;
  readonly version: number;
}

export interface Marks {
  readonly uri: string;
  readonly version: number;
  readonly marks: readonly MeasuredMark[];
}

/** A stretch of text in which the array under the caret is alive; `certain` when it is so on every path. */
export interface LifeRange {
  readonly start: Position;
  readonly end: Position;
  readonly certain: boolean;
  readonly kind: 'born' | 'alive' | 'lastUse' | 'donated';
}

/** A place that names an array. */
export interface Occurrence {
  readonly start: Position;
  readonly end: Position;
  readonly writes: boolean;
}

export interface LifeParams {
  readonly uri: string;
  readonly version: number;
  readonly position: Position;
}

export interface Life {
  readonly uri: string;
  readonly version: number;
  readonly name: string | null;
  readonly ranges: readonly LifeRange[];
}

/** The stages of a compiled function as documents, in the order in which people want them. */
export const explainStages = ['plan', 'schedule', 'ir', 'trace'] as const;
export type ExplainStage = (typeof explainStages)[number];

/** Scheme of the read-only documents that explain a compiled function: `tidemark-explain:/step.plan?{"file":…,"function":…,"line":…}`. */
export const explainScheme = 'tidemark-explain';

export interface ExplainTarget {
  /** Absolute path. */
  readonly file: string;
  readonly function: string;
  readonly line: number;
}

/** A compiled function, stage by stage; `why` says what is missing where a stage is null. */
export interface Explanation {
  readonly name: string;
  readonly stages: { readonly [stage in ExplainStage]: string | null };
  readonly why: string | null;
}

/** State of the server, for the status items. */
export interface ServerStatus {
  readonly busy: boolean;
  readonly findings: number;
  /** Peak of the last run of the workspace, fresh or not. */
  readonly peakBytes: number | null;
  readonly peakFile: string | null;
  /** The same file as an absolute path, to be opened. */
  readonly peakPath: string | null;
  readonly stale: boolean;
}

export interface OutputParams {
  readonly stream: 'stdout' | 'stderr' | 'tidemark';
  readonly text: string;
}

/** What `Tidemark: Collect Diagnostics` prints: nothing of the person's code, only versions and counts. */
export interface SupportFacts {
  readonly [name: string]: string | number | boolean | null;
}

/** Method names, so that both ends say the same. */
export const methods = {
  profile: 'tidemark/profile',
  compareAllocators: 'tidemark/compareAllocators',
  marks: 'tidemark/marks',
  marksChanged: 'tidemark/marksChanged',
  life: 'tidemark/life',
  status: 'tidemark/status',
  output: 'tidemark/output',
  clear: 'tidemark/clearMeasurements',
  trust: 'tidemark/trusted',
  support: 'tidemark/support',
  keptRuns: 'tidemark/keptRuns',
} as const;

/** Settings as the server gets them, section `tidemark`. Every key is optional: absent means the default. */
export interface ServerSettings {
  readonly nodePath?: string;
  readonly minBytes?: number;
  readonly memoryBudget?: string;
  readonly rules?: Readonly<Record<string, SeveritySetting>>;
  readonly inlay?: 'peak' | 'all' | 'off';
  readonly codeLens?: boolean;
  readonly lifetimes?: boolean;
  readonly profile?: {
    readonly device?: 'webgpu' | 'cpu';
    readonly timeoutSeconds?: number;
    readonly args?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    readonly entries?: Readonly<Record<string, string>>;
    readonly chromePath?: string;
  };
  readonly memory?: {
    readonly allocator?: 'bfc' | 'platform';
    readonly preallocate?: boolean;
    readonly fraction?: number;
    readonly limit?: string;
  };
}

/** Options that the client hands over at `initialize`. */
export interface InitializationOptions {
  /** Nothing may be executed while false. */
  readonly trusted: boolean;
  /** Folder in which profiles of the last runs are kept. */
  readonly storage?: string;
  readonly settings?: ServerSettings;
  /** Hovers may name commands of the editor: only where the client lets them be clicked. */
  readonly links?: boolean;
}

/** Ids of the editor's commands that lenses and hovers of the server name. */
export const commands = {
  profileFile: 'tidemark.profileFile',
  profileFunction: 'tidemark.profileFunction',
  chooseEntry: 'tidemark.chooseEntry',
  showFix: 'tidemark.showFix',
  showPeak: 'tidemark.showPeak',
  showTimeline: 'tidemark.showTimeline',
  explain: 'tidemark.explain',
} as const;

/** Modules whose arrays Tidemark knows; a workspace that uses none of them never starts the server. */
export const knownModules: readonly string[] = [
  'tidemark',
  '@tensorflow/tfjs',
  '@tensorflow/tfjs-core',
  '@tensorflow/tfjs-node',
  '@tensorflow/tfjs-node-gpu',
  '@tensorflow/tfjs-backend-webgpu',
  '@tensorflow/tfjs-backend-webgl',
  '@tensorflow/tfjs-backend-wasm',
  '@jax-js/jax',
  'webgpu',
  '@webgpu/types',
];
