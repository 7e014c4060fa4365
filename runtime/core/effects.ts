/**
 * What a call does to the buffers of its arguments, in one vocabulary.
 *
 * An op entry, a line of a library model, and the summary that the analysis computes for a function of the user are
 * all `Effects`; so knowledge of libraries and interprocedural analysis are one mechanism. An unknown callee reads and
 * stores its arguments: that silences rules, and accuses nobody. Depends on: nothing.
 */

/** What happens to one argument (to every array in it, when it is a tree). */
export type ArgumentEffect =
  /** Only metadata is looked at (`x.shape`): legal on dead arrays. */
  | { readonly kind: 'inspects' }
  /** The contents are read; the caller keeps the array. */
  | { readonly kind: 'reads' }
  /** Read now and kept somewhere that outlives the call (a field, a collection, a pending promise): may be read later, may be freed by its new holder. */
  | { readonly kind: 'stores' }
  /** The array is dead after the call: its buffer was given away (jit donation). */
  | { readonly kind: 'donates' }
  /** The array is dead after the call: one reference was consumed (jax-js). */
  | { readonly kind: 'consumes' }
  /** The array is dead after the call: freed. */
  | { readonly kind: 'disposes' }
  /** The array lives on beyond any scope that would have freed it (tf.keep). */
  | { readonly kind: 'keeps' };

/** Where a result comes from. */
export type ResultEffect =
  /** A new array that the caller owns. */
  | { readonly kind: 'creates' }
  /** The same array as argument `argument` (or part of the tree there, by `path`). */
  | { readonly kind: 'aliases'; readonly argument: number; readonly path?: readonly string[] }
  /** A further reference on argument `argument` (jax-js `.ref`). */
  | { readonly kind: 'retains'; readonly argument: number }
  /** Either a new array or one of the arguments. */
  | { readonly kind: 'mayAlias'; readonly arguments: readonly number[] }
  /** Host data, nothing that owns device memory. */
  | { readonly kind: 'host' }
  | { readonly kind: 'unknown' };

export interface Effects {
  /** By position; -1 stands for the receiver (`x` in `x.add(y)`). Arguments beyond the list take `rest`. */
  readonly arguments: ReadonlyMap<number, ArgumentEffect>;
  readonly rest: ArgumentEffect;
  readonly result: ResultEffect;
}

export const unknownEffects: Effects = { arguments: new Map(), rest: { kind: 'stores' }, result: { kind: 'unknown' } };
