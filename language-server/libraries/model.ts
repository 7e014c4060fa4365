/**
 * All that is known about a library, as data.
 *
 * A model says which modules and types it speaks of, who owns arguments, and what its calls do, in the vocabulary of
 * `runtime/core/effects`. What a model doesn't list follows its convention: a call that yields an array creates it, and
 * its array arguments are read (or consumed, where the library consumes). Names are qualified by the namespace the
 * library exports (`numpy.zeros`, `train.sgd`) or by the declaring type (`Tensor.add`); the type checker, not spelling,
 * says which declaration a call means. A user's own models in `tidemark.json` have the same form.
 * Depends on: shaping, runtime/core (dtype, effects).
 */
import type { DType } from '../../runtime/core/dtype.ts';
import type { ArgumentEffect, ResultEffect } from '../../runtime/core/effects.ts';
import type { ShapeRule } from './shaping.ts';

export type ArgumentVerb = ArgumentEffect['kind'];

/** How a call calls a function that it is given. */
export interface Callback {
  /** Which argument is the function; for `tree.map(f, …)` 0. */
  readonly argument: number;
  /** Before the call returns; some time after (any number of times); or only when the result is called. */
  readonly when: 'now' | 'later';
  /** How often: exactly once, or any number of times. */
  readonly times: 'once' | 'many';
  /** What it is given: members of the receiver or of an argument (`element` of -1: the receiver), an accumulated value, or unknown values of the declared types. */
  readonly given: readonly (
    | { readonly kind: 'element'; readonly of: number }
    | { readonly kind: 'argument'; readonly at: number }
    | { readonly kind: 'accumulator'; readonly initial: number }
    | { readonly kind: 'settled'; readonly of: number }
    | { readonly kind: 'index' }
    | { readonly kind: 'whole'; readonly of: number }
    | { readonly kind: 'unknown' }
  )[];
  /** What becomes of its result: the call's result; collected in a new array or tree; read as a condition; dropped; or the promise's value. */
  readonly result: 'returned' | 'collected' | 'flattened' | 'filter' | 'find' | 'dropped' | 'accumulated' | 'settles';
}

/** Roles beyond effects: what a call is in the language of memory. */
export type Role =
  /** Frees what its callback (argument 0) made, but its result. `async`: lasts until the promise settles. */
  | { readonly kind: 'scope'; readonly async: boolean }
  /** Begins such a scope, and ends the last one that was begun so: what is passed to the end goes to the scope outside. */
  | { readonly kind: 'opens' }
  | { readonly kind: 'closes' }
  /** Makes a compiled function of argument `function`; options (donateArgnums …) are in argument `options`. */
  | { readonly kind: 'compiles'; readonly function: number; readonly options: number; readonly caches: boolean }
  /** Makes another function of argument 0 that traces it when called. `result`: that of the function, its gradient (a tree like parameter 0), both, or tree unknown. */
  | { readonly kind: 'transforms'; readonly how: 'grad' | 'valueAndGrad' | 'vmap' | 'checkpoint' | 'other'; readonly function: number }
  /** Traces argument `function` now, with tracers (lax.scan): arrays made in it never leak. */
  | { readonly kind: 'traces'; readonly function: number }
  /** Calls a function that it is given. */
  | { readonly kind: 'calls'; readonly callbacks: readonly Callback[] }
  /** Marks its argument as donated to the call that takes the result. */
  | { readonly kind: 'donateMark' }
  /** Frees or keeps each array in the tree that is argument 0 (or the receiver). */
  | { readonly kind: 'treeLeaves' }
  /** Work on a collection: the receiver gains, loses or yields members. */
  | {
      readonly kind: 'collection';
      readonly does:
        'add' | 'addPair' | 'take' | 'look' | 'copy' | 'concat' | 'clear' | 'remove' | 'values' | 'entries' | 'keys' | 'replace';
    }
  /** Plans the call of a compiled function without running it. */
  | { readonly kind: 'plansOnly' };

export interface Call {
  /** By position; `receiver` is `x` in `x.add(y)`; `rest` all others. Absent ones follow the convention. */
  readonly arguments?: Readonly<Partial<Record<number | 'receiver' | 'rest', ArgumentVerb | 'records'>>>;
  readonly result?:
    ResultEffect['kind'] | { readonly aliases: number } | { readonly retains: number } | { readonly settles: Call['result'] };
  readonly role?: Role;
  /** Yields a promise and reads its arguments until that settles (not only at the call). */
  readonly readsUntilSettled?: boolean;
  /** Copies at the call: a use at the call only, although it yields a promise. */
  readonly reader?: boolean;
  /** The result has as many members as this argument (when that is a list of known length). */
  readonly countOf?: number;
  /** Yields an array only when this argument is true (`optimizer.minimize(f, true)`). */
  readonly onlyIfTrue?: number;
  /** Yields arrays only when this argument holds some: of stand-ins it makes another (`layer.apply(symbolic)`). */
  readonly onlyOf?: number;
  /** The type of what is made, where the text has none: code without the library's declarations. */
  readonly makes?: string;
  /** What is made owns nothing, unless an argument has this property, until a call that `fills` it gives it something new. */
  readonly emptyWithout?: string;
  /**
   * What else is to be known: the result records what it is given (`recorder`), outlives scopes (`kept`), rejects (`throws`);
   * the receiver is filled (`fills`); functions among what is stored are called in scopes of the library's own (`scopes`).
   */
  readonly note?: 'recorder' | 'kept' | 'throws' | 'fills' | 'scopes';
}

export interface LibraryModel {
  readonly id: string;
  /** Package names; a trailing `*` matches any rest. Ambient declarations have the package of the file that declares them. */
  readonly modules: readonly string[];
  /** Names by which a namespace export is also known: `{ np: 'numpy' }`. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Type names whose values are device arrays. */
  readonly arrays: readonly string[];
  /** Type names whose values own arrays and must be freed as a whole (models, optimizers). */
  readonly owners: readonly string[];
  /** Type names whose values hold on to arrays that are passed to their methods until submitted (command encoders): no ownership. */
  readonly recorders?: readonly string[];
  /** Do operations leave their arguments to the caller, or take a reference of each? */
  readonly convention: 'borrows' | 'consumes';
  /** Methods that free the receiver, in order of preference: `dispose`, `destroy`. */
  readonly free: readonly string[];
  /** Is freeing twice legal? */
  readonly freeTwice: boolean;
  /** Properties that stay readable on a dead array. */
  readonly metadata: readonly string[];
  /** Property that takes a further reference (`ref`). */
  readonly retain?: string;
  /** Methods of arrays that read their operands and yield a new array, for texts whose types say nothing. */
  readonly chained?: readonly string[];
  /** Methods whose name, with the properties of their first argument, says enough where the text has no type for the receiver. */
  readonly byMethod?: Readonly<Record<string, { readonly of: string; readonly given?: readonly string[] }>>;
  /** Which shapes calls yield, by the names of `calls`; absent, the runtime's function of the same name says it. */
  readonly shapes?: Readonly<Record<string, ShapeRule>>;
  /** Bytes of an element where they differ from the runtime's, and what sizes are rounded up to (1 where absent). */
  readonly elementBytes?: Readonly<Partial<Record<DType, number>>>;
  readonly granule?: number;
  /** Properties of an owner that hand out parts which another owner may share: who frees them is open from there on. */
  readonly shares?: readonly string[];
  /** Methods of a subclass of one of its types that the library calls in scopes of its own (`call` of a layer). */
  readonly scopedMethods?: readonly string[];
  /** Types whose values outlive a `tidy`/`scope` (tf.Variable). */
  readonly unscoped?: readonly string[];
  /** Functions that free all there are of those types at once (`disposeVariables`). */
  readonly freesUnscoped?: readonly string[];
  /** Does anything free unreferenced arrays soon (never count on it)? Words used in messages: what one calls an array here. */
  readonly noun: string;
  /** The word for copying an array: `clone`, `copy`. */
  readonly copy?: string;
  /** The function that wraps work whose intermediates are freed. */
  readonly scopeName?: string;
  /** By qualified name. `Type.*` and `namespace.*` give a default for a group. */
  readonly calls: Readonly<Record<string, Call>>;
}

/** The line of a model for a call: exact, else the group's, else nothing (the convention decides). */
export function callOf(model: LibraryModel, name: string): Call | undefined {
  const known = lines.get(model) ?? new Map<string, Call | undefined>();
  lines.set(model, known);
  if (known.has(name)) return known.get(name);
  const dot = name.lastIndexOf('.');
  const found =
    (Object.hasOwn(model.calls, name) ? model.calls[name] : undefined) ?? (dot < 0 ? undefined : model.calls[`${name.slice(0, dot)}.*`]);
  known.set(name, found);
  return found;
}

/** The lines of models by the names that they were asked for: asked at every step of a walk. */
const lines = new WeakMap<LibraryModel, Map<string, Call | undefined>>();

/** Does a module specifier or package name belong to the model? */
export function speaksOf(model: LibraryModel, module: string): boolean {
  return model.modules.some((name) => (name.endsWith('*') ? module.startsWith(name.slice(0, -1)) : module === name));
}
