/**
 * A function as a graph of blocks of events over locals: what is left of source text once syntax is gone.
 *
 * Every value-producing expression is an event that writes one local (`to`), host values included, so that a body can be
 * walked twice: by the analyses with abstract values, and by `compiled` with concrete ones under the runtime's tracer.
 * Plain data: no syntax node survives, places are spans. Locals have names that are unique in their function; a local
 * that closures read is `captured`, and they reach it by `outer` events. `finally` bodies and the disposals of `using`
 * are copied onto every way out, so an edge is all there is to control flow.
 * Depends on: nothing.
 */

/** Half-open range of UTF-16 offsets in a file (absolute path). */
export interface Span {
  readonly file: string;
  readonly start: number;
  readonly end: number;
}

/** `file#Net.forward`, `file#train/1` (second function inside `train`), `file#` for the top level: stable under edits elsewhere. */
export type FunctionId = string;
export type ClassId = string;

/** The file that a function or class stands in. */
export const fileOf = (id: FunctionId | ClassId): string => id.slice(0, id.indexOf('#'));

/** Is it `outer`, or does it stand inside of it? */
export const isWithin = (id: FunctionId | ClassId, outer: FunctionId): boolean => id === outer || id.startsWith(`${outer}/`);
export type Local = number;
export type BlockId = number;

/** A variable of another function or file: the declaring function (`file#` for module variables) and its unique name there. */
export interface Variable {
  readonly function: FunctionId;
  readonly name: string;
}

/** What the type of a local says about device memory. */
export interface TypeFact {
  /** An array; an object that owns arrays (model, optimizer); a tree with arrays somewhere inside; nothing of the kind; or a type that says nothing (`any`, `unknown`). */
  readonly holds: 'array' | 'owner' | 'tree' | 'nothing' | 'unknown';
  /** The library of the array or owner, by model id. */
  readonly library?: string;
  /** Bare name of the declared type (`Tensor2D`, `GPUBuffer`, `Params`), for messages and effects by type. */
  readonly name?: string;
  /** Known properties of a tree (interfaces, object types, tuples by position): arrays live in these and nowhere else. */
  readonly fields?: Readonly<Record<string, TypeFact>>;
  /** Element of an array, a Map's value, a Set's member, a Record's value. */
  readonly element?: TypeFact;
  /** What a promise of it yields; `holds` then speaks of the settled value. */
  readonly promise?: boolean;
  readonly nullable?: boolean;
  readonly callable?: boolean;
  /** What a call of it yields. */
  readonly result?: TypeFact;
  /** A class of the project. */
  readonly class?: ClassId;
}

export interface LocalFact {
  /** The source name (`params`), absent for intermediate results. */
  readonly name?: string;
  /** Unique in the function; what `outer` events name. Equal to `name` unless shadowed. */
  readonly unique: string;
  readonly kind: 'parameter' | 'variable' | 'constant' | 'using' | 'temporary' | 'this';
  readonly type: TypeFact;
  /** Read or written by a function nested in this one. */
  readonly captured: boolean;
  /** Where it is declared, for named locals. */
  readonly span?: Span;
}

export interface Parameter {
  /** The local that receives the argument; a pattern is taken apart by the first events of the body. */
  readonly local: Local;
  readonly name?: string;
  readonly span: Span;
  readonly optional: boolean;
  readonly rest: boolean;
}

export interface LoweredFunction {
  readonly id: FunctionId;
  readonly file: string;
  /** The name it is bound to: `step`, `Net.forward`, `` when nothing names it. */
  readonly name: string;
  readonly kind: 'module' | 'function' | 'arrow' | 'method' | 'getter' | 'setter' | 'constructor' | 'fields';
  readonly span: Span;
  /** From the start of the declaration to the start of the body: where a fault of a parameter sits. */
  readonly signature: Span;
  readonly async: boolean;
  readonly generator: boolean;
  readonly exported: boolean;
  /** Only its class may call it. */
  readonly private?: true;
  readonly parent?: FunctionId;
  readonly class?: ClassId;
  readonly static?: boolean;
  readonly parameters: readonly Parameter[];
  /** The local that holds `this`, where there is one (arrows read the parent's as an outer variable named `this`). */
  readonly self?: Local;
  readonly locals: readonly LocalFact[];
  /** The first block is the entry. */
  readonly blocks: readonly Block[];
  /** `// @budget` directly above, in bytes. */
  readonly budgetBytes?: number;
}

export interface LoweredClass {
  readonly id: ClassId;
  readonly file: string;
  readonly name: string;
  readonly span: Span;
  /** `export class Name`: where a fault of the class sits. */
  readonly head: Span;
  readonly exported: boolean;
  /** The class it extends, when that is one of the project. */
  readonly base?: ClassId;
  /** It extends something else. */
  readonly foreignBase: boolean;
  /** The library whose class that is, where that is known; the empty name for the platform's own. */
  readonly baseLibrary?: string;
  readonly constructor_?: FunctionId;
  /** Runs the field initialisers and parameter properties with `this`; called by the walker before the constructor's body (after `super()` in a derived class). */
  readonly initialiser?: FunctionId;
  /** By member name; `[Symbol.dispose]` is written `@@dispose`, `[Symbol.asyncDispose]` `@@asyncDispose`, `[Symbol.iterator]` `@@iterator`. */
  readonly methods: Readonly<Record<string, FunctionId>>;
  readonly getters: Readonly<Record<string, FunctionId>>;
  readonly setters: Readonly<Record<string, FunctionId>>;
  readonly staticMethods: Readonly<Record<string, FunctionId>>;
  readonly fields: readonly FieldFact[];
}

export interface FieldFact {
  readonly name: string;
  readonly span: Span;
  readonly type: TypeFact;
  readonly private: boolean;
  readonly readonly: boolean;
}

export interface Block {
  readonly id: BlockId;
  readonly events: readonly Event[];
  readonly end: End;
  /** Where an exception thrown in this block goes; absent when it leaves the function. */
  readonly handler?: BlockId;
  /** The local that the handler's block finds the exception in is written by its `caught` event. */
  /** This block is the head of a loop: the blocks of that loop, itself included. */
  readonly loop?: readonly BlockId[];
}

export type End =
  | { readonly kind: 'goto'; readonly target: BlockId }
  | { readonly kind: 'branch'; readonly condition: Local; readonly then: BlockId; readonly else: BlockId; readonly span: Span }
  /** Takes the next element of an iterator into `to` and goes to `body`, or to `done`. */
  | {
      readonly kind: 'next';
      readonly iterator: Local;
      readonly to: Local;
      readonly body: BlockId;
      readonly done: BlockId;
      readonly span: Span;
      readonly await: boolean;
    }
  | { readonly kind: 'return'; readonly value?: Local; readonly span: Span }
  | { readonly kind: 'throw'; readonly value: Local; readonly span: Span }
  | { readonly kind: 'unreachable' };

/** What a call calls, as far as the text and its types say. */
export type Callee =
  /** An entry of a library model, by model id and qualified name: `tidemark` `numpy.zeros`, `tfjs` `Tensor.add`, `webgpu` `GPUDevice.createBuffer`, `standard` `Array.push`. */
  | { readonly kind: 'library'; readonly library: string; readonly name: string }
  /** A function or method of the project; `overridable` when a subclass in the project has its own, `exact` when `super` names it. */
  | { readonly kind: 'user'; readonly function: FunctionId; readonly overridable: boolean; readonly exact?: boolean }
  /** `new` of a class of the project, or `super(…)`. */
  | { readonly kind: 'class'; readonly class: ClassId }
  /** Whatever `function` (or the property `key` of `receiver`) holds when the call runs. */
  | { readonly kind: 'value'; readonly name: string };

export interface Argument {
  readonly local: Local;
  /** `...xs`. */
  readonly spread: boolean;
  readonly span: Span;
}

export type Key = { readonly kind: 'name'; readonly name: string } | { readonly kind: 'computed'; readonly local: Local };

export type Entry =
  { readonly kind: 'property'; readonly key: Key; readonly value: Local } | { readonly kind: 'spread'; readonly from: Local };

export type Literal = string | number | bigint | boolean | null | undefined;

export type Event = { readonly span: Span } & (
  | { readonly kind: 'literal'; readonly to: Local; readonly value: Literal }
  | { readonly kind: 'copy'; readonly to: Local; readonly from: Local }
  /** Reads a variable of an enclosing function or of a module. */
  | { readonly kind: 'outer'; readonly to: Local; readonly variable: Variable }
  | { readonly kind: 'setOuter'; readonly variable: Variable; readonly from: Local }
  /** A value of a library or of the language that is not called here: `np`, `Math`, `tf.relu` as an argument. `name` is the qualified name (`numpy`, `Math`, `relu`). */
  | { readonly kind: 'external'; readonly to: Local; readonly library?: string; readonly name: string }
  /** `object.key` or `object[key]`; inside a pattern too (`pattern`: the whole pattern's span is this event's statement). */
  | {
      readonly kind: 'property';
      readonly to: Local;
      readonly object: Local;
      readonly key: Key;
      readonly pattern: boolean;
      readonly metadata?: boolean;
      readonly callee?: Callee;
    }
  | {
      readonly kind: 'setProperty';
      readonly object: Local;
      readonly key: Key;
      readonly from: Local;
      readonly declares?: boolean;
      readonly callee?: Callee;
    }
  | { readonly kind: 'delete'; readonly to: Local; readonly object: Local; readonly key: Key }
  /** What is left of an object or array in a pattern: without `taken` names, or from element `start` on. */
  | { readonly kind: 'rest'; readonly to: Local; readonly object: Local; readonly taken?: readonly string[]; readonly start?: number }
  | {
      readonly kind: 'call';
      readonly to: Local;
      readonly callee: Callee;
      /** The value called (`f` in `f(x)`); absent for methods. */
      readonly function?: Local;
      /** `x` in `x.add(y)`, with `key` = `add`. */
      readonly receiver?: Local;
      readonly key?: Key;
      readonly arguments: readonly Argument[];
      readonly construct: boolean;
      /** The name or property alone (`step` in `a.step(x)`), for notes. */
      readonly nameSpan: Span;
    }
  | { readonly kind: 'closure'; readonly to: Local; readonly function: FunctionId }
  | { readonly kind: 'class'; readonly to: Local; readonly class: ClassId }
  | { readonly kind: 'object'; readonly to: Local; readonly entries: readonly Entry[] }
  /** Elements in order; a hole is absent. */
  | {
      readonly kind: 'array';
      readonly to: Local;
      readonly elements: readonly ({ readonly local: Local; readonly spread: boolean } | undefined)[];
    }
  /** A template string: `parts` has one more member than `values`. */
  | { readonly kind: 'template'; readonly to: Local; readonly parts: readonly string[]; readonly values: readonly Local[] }
  /** `-`, `+`, `!`, `~`, `typeof`, `void`. */
  | { readonly kind: 'unary'; readonly to: Local; readonly operator: string; readonly value: Local }
  /** Arithmetic, comparison, `in`, `instanceof`; `&&`, `||`, `??` and `?:` are branches. */
  | { readonly kind: 'binary'; readonly to: Local; readonly operator: string; readonly left: Local; readonly right: Local }
  | { readonly kind: 'await'; readonly to: Local; readonly value: Local }
  | { readonly kind: 'yield'; readonly to: Local; readonly value?: Local; readonly delegate: boolean }
  /** An iterator over `from`: for `of`, `in` (its keys) or `await`. */
  | { readonly kind: 'iterate'; readonly to: Local; readonly from: Local; readonly over: 'of' | 'in' | 'await' }
  /** The end of a `using` declaration's block. */
  | { readonly kind: 'dispose'; readonly value: Local; readonly await: boolean }
  /** First event of a handler: the exception. */
  | { readonly kind: 'caught'; readonly to: Local }
  /** `locals` begin or end to exist (captured ones get new cells on entry, as in a loop body). */
  | { readonly kind: 'enter'; readonly locals: readonly Local[] }
  | { readonly kind: 'exit'; readonly locals: readonly Local[] }
  /** Something the lowering doesn't know: reads and stores its operands, yields unknown. */
  | { readonly kind: 'opaque'; readonly to: Local; readonly operands: readonly Local[]; readonly what: string }
);

export type CallEvent = Extract<Event, { kind: 'call' }>;

/** A comment that speaks to the analysis. */
export type Directive =
  /** `// tidemark-ignore rule: reason` silences the next line. */
  | { readonly kind: 'ignore'; readonly rule: string; readonly reason: string; readonly span: Span; readonly line: number }
  /** `// @budget 4GiB` on line 2: the file's. */
  | { readonly kind: 'budget'; readonly bytes: number; readonly span: Span; readonly line: number };

/** One lowered file. */
export interface Unit {
  readonly file: string;
  /** Changes when the text or anything it was typed against changes. */
  readonly version: string;
  readonly module: FunctionId;
  readonly functions: ReadonlyMap<FunctionId, LoweredFunction>;
  readonly classes: ReadonlyMap<ClassId, LoweredClass>;
  readonly directives: readonly Directive[];
  /** Offset of the start of each line. */
  readonly lines: readonly number[];
  readonly budgetBytes?: number;
  /** Ids of the library models it uses (imports, or types that occur). */
  readonly libraries: ReadonlySet<string>;
  /** The first thing that is no TypeScript: functions around it may be read wrongly. */
  readonly misread?: { readonly start: number; readonly message: string };
  /** `using` may be written here: the file has types, and its `lib` knows disposables. */
  readonly disposable?: boolean;
  /** Names of the module's variables that other files can import. */
  readonly exports?: ReadonlySet<string>;
}

/** All lowered files of a project: what analyses ask. */
export interface Project {
  readonly units: ReadonlyMap<string, Unit>;
  function(id: FunctionId): LoweredFunction | undefined;
  class(id: ClassId): LoweredClass | undefined;
}

const librariesOf = new WeakMap<LoweredFunction, readonly string[]>();

/** Libraries that a function's types and calls speak of: a file may have them by `require` alone. */
export function librariesIn(fn: LoweredFunction): readonly string[] {
  const known = librariesOf.get(fn) ?? [...new Set(namedLibraries(fn))];
  librariesOf.set(fn, known);
  return known;
}

function namedLibraries({ locals, blocks }: LoweredFunction): readonly string[] {
  const typed = locals.flatMap(({ type }) => (type.library === undefined ? [] : [type.library]));
  const called = blocks.flatMap(({ events }) =>
    events.flatMap((event) =>
      event.kind === 'call' && event.callee.kind === 'library' && event.callee.library !== 'standard' ? [event.callee.library] : [],
    ),
  );
  return [...typed, ...called];
}

/** What a table has under a name of the text: `constructor` and `toString` are names like any other. */
export const inTable = <T>(table: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;

/** The locals an event reads, in order. */
export function reads(event: Event): readonly Local[] {
  const key = (k: Key): readonly Local[] => (k.kind === 'computed' ? [k.local] : []);
  switch (event.kind) {
    case 'literal':
    case 'outer':
    case 'external':
    case 'closure':
    case 'class':
    case 'caught':
    case 'enter':
    case 'exit':
      return [];
    case 'copy':
    case 'setOuter':
      return [event.from];
    case 'property':
    case 'delete':
      return [event.object, ...key(event.key)];
    case 'setProperty':
      return [event.object, ...key(event.key), event.from];
    case 'rest':
      return [event.object];
    case 'call':
      return [
        ...(event.function === undefined ? [] : [event.function]),
        ...(event.receiver === undefined ? [] : [event.receiver]),
        ...(event.key === undefined ? [] : key(event.key)),
        ...event.arguments.map((argument) => argument.local),
      ];
    case 'object':
      return event.entries.flatMap((entry) => (entry.kind === 'spread' ? [entry.from] : [...key(entry.key), entry.value]));
    case 'array':
      return event.elements.flatMap((element) => (element === undefined ? [] : [element.local]));
    case 'template':
      return event.values;
    case 'unary':
    case 'await':
      return [event.value];
    case 'binary':
      return [event.left, event.right];
    case 'yield':
      return event.value === undefined ? [] : [event.value];
    case 'iterate':
      return [event.from];
    case 'dispose':
      return [event.value];
    case 'opaque':
      return event.operands;
  }
}

/** The local an event writes. */
export const writes = (event: Event): Local | undefined => ('to' in event ? event.to : undefined);

/** The blocks that may run next, handlers apart. */
export function successors(end: End): readonly BlockId[] {
  switch (end.kind) {
    case 'goto':
      return [end.target];
    case 'branch':
      return [end.then, end.else];
    case 'next':
      return [end.body, end.done];
    case 'return':
    case 'throw':
    case 'unreachable':
      return [];
  }
}
