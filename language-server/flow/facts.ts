/**
 * What the walk over a project finds out, as plain facts: rules turn them into findings, and know nothing of the walk.
 *
 * The walk runs every entry of the project (top levels, exported functions and methods, functions nobody calls) with
 * abstract values, through calls, on every path. A fact is `certain` when it holds on every path that reaches its place
 * in that run. Depends on: lower/ir.
 */
import type { FunctionId, Span } from '../lower/ir.ts';

/** How an array died. */
export type Death = 'donated' | 'consumed' | 'disposed' | 'scope' | 'using';

export interface Words {
  readonly noun: string;
  readonly free: string;
  readonly copy?: string;
  readonly scope?: string;
  /** Operations take a reference of what they are given. */
  readonly consumes: boolean;
}

export interface Named {
  /** What the author calls it: `params`, `this.mean`, `state.w`; absent for an intermediate result. */
  readonly name?: string;
  readonly library: string;
  /** What one calls it there (`tensor`), the verb that frees it, the words for copying and for a scope that frees. */
  readonly words: Words;
  /** It outlives every scope: a variable. */
  readonly unscoped?: true;
  /** Where it was made (absent when it came in from outside). */
  readonly made?: Span;
  /** Tells those apart that one place made together. */
  readonly id?: string;
}

/** Something a rule may report. */
export type Observation = { readonly span: Span; readonly certain: boolean; readonly function: FunctionId } &
  /** An array (or part of a tree) is used after it died. `use`: what for. */
  (
    | {
        readonly kind: 'deadUse';
        readonly array: Named;
        readonly death: Death;
        readonly diedAt: Span;
        readonly use: 'read' | 'consume' | 'donate' | 'dispose' | 'return';
        readonly sameCall: boolean;
        readonly inLoop: boolean;
      }
    /** One buffer twice among the arguments of one call, at least once given away. */
    | {
        readonly kind: 'sameBufferTwice';
        readonly array: Named;
        readonly first: Span;
        readonly second: Span;
        readonly paths: readonly [string, string];
        readonly both: boolean;
      }
    /** An array is lost: nobody can free it any more. `how`: by what it was lost. */
    | {
        readonly kind: 'lost';
        readonly array: Named;
        readonly how: 'end' | 'dropped' | 'overwritten' | 'deleted' | 'argument' | 'extraRef' | 'field' | 'part';
        /** The local that last held it, where its scope allows a dispose. */
        readonly declaration?: Span;
        readonly lastUse?: Span;
        readonly freedElsewhere?: Span;
        readonly what: 'array' | 'owner';
        /** The loss is on a path through a `catch` or an early exit only. */
        readonly path?: 'catch' | 'early';
        /** For `overwritten`: a variable of a function that has returned, which its closures share. */
        readonly variable?: boolean;
        /** For `argument`: the parameter that dropped it. */
        readonly passed?: { readonly function: FunctionId; readonly position: number };
      }
    /** A collection that outlives the loop or the call gains arrays and never loses any. */
    | {
        readonly kind: 'retained';
        readonly array: Named;
        readonly collection: string;
        readonly where: 'loop' | 'module' | 'class';
        readonly scalar: boolean;
      }
    /** A scope whose callback starts or returns a promise. */
    | {
        readonly kind: 'asyncScope';
        readonly library: string;
        readonly how: 'async' | 'returns' | 'starts' | 'notAwaited';
        readonly scope: string;
      }
    /** `jit(…)` made anew in a loop or per call. */
    | { readonly kind: 'jitAnew'; readonly library: string; readonly where: 'loop' | 'call'; readonly name: string }
    /** A value made while tracing is stored outside the traced function. */
    | { readonly kind: 'tracerStored'; readonly array: Named; readonly target: string }
    /** A class whose fields hold arrays, with nothing that frees them. */
    | {
        readonly kind: 'ownerWithoutDispose';
        readonly className: string;
        readonly fields: readonly string[];
        readonly verb: string;
        readonly library: string;
      }
  );

/** One argument of one call of a compiled function. */
export interface CompiledArgument {
  readonly position: number;
  readonly span: Span;
  readonly name?: string;
  /** Given away by the jit options or by `donate()` at the call. */
  readonly donated: 'options' | 'mark' | undefined;
  /** Holds device arrays. */
  readonly arrays: boolean;
  /** What happens to the arrays in it after the call, over all paths: nothing but being freed (`dead`), read again, or kept by somebody (returned, stored, captured, the caller's). */
  readonly after: 'dead' | 'read' | 'kept';
  /** Why not dead, or where it is read. */
  readonly because?: Span;
  /** The statements that free it after the call: needless once it is donated. */
  readonly freedAt: readonly Span[];
  /** Whose it is: made in this function or its callees, a parameter of the entry (the caller's), or held by a field or module variable. */
  readonly owner: 'here' | 'caller' | 'field';
}

/** One call of a compiled function, over all runs that reach it. */
export interface CompiledCall {
  readonly span: Span;
  readonly nameSpan: Span;
  readonly function: FunctionId;
  /** `step`, `this.run`. */
  readonly name: string;
  readonly library: string;
  readonly how: 'jit' | 'pmap' | 'vmap' | 'grad' | 'other';
  /** The function that was compiled, when known. */
  readonly target?: FunctionId;
  /** The `jit(…)` call. */
  readonly jit: Span;
  readonly donateArgnums: readonly number[];
  readonly staticArgnums: readonly number[];
  readonly arguments: readonly CompiledArgument[];
  /** In a loop of its function. */
  readonly inLoop: boolean;
}

/** A variable that a compiled or transformed function reads from outside. */
export interface Capture {
  readonly span: Span;
  readonly name: string;
  readonly library: string;
  /** Where the captured array was made, when known. */
  readonly made?: Span;
  readonly jit: Span;
  readonly function: FunctionId;
}

/** How often the walk could not say something, and why. */
export type Silences = ReadonlyMap<string, number>;

export interface Facts {
  readonly observations: readonly Observation[];
  readonly calls: readonly CompiledCall[];
  readonly captures: readonly Capture[];
  /** By `rule: reason`. */
  readonly silences: Silences;
  /** By place of a call that frees something: why its loss would go unnoticed; no reason where it would not. */
  readonly freed: ReadonlyMap<string, string | undefined>;
  /** Functions that some walk came by. */
  readonly visited: ReadonlySet<FunctionId>;
}
