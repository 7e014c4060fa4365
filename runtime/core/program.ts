/**
 * A traced program: flat, typed, single assignment (the form of JAX's jaxpr, 2018).
 *
 * An equation applies an op to atoms and defines its results. Whatever a traced function closed over is a capture: an
 * input with a value attached. The op is held as an opaque entry here; `runtime/ops` says what it is.
 * Depends on: aval, source.
 */
import type { Aval, KnownAval } from './aval.ts';
import type { Place } from './source.ts';

/** A value of a program; compared by identity. */
export interface Variable {
  readonly aval: KnownAval;
}

/** A scalar constant in the text of the program. */
export interface Literal {
  readonly literal: number | boolean;
  readonly aval: KnownAval;
}

export type Atom = Variable | Literal;

export const isLiteral = (atom: Atom): atom is Literal => 'literal' in atom;

/** Parameters of an op that aren't arrays: axes, shapes, dtypes, body programs. Compared by structure. */
export type Parameter = number | boolean | string | undefined | Program | readonly Parameter[] | { readonly [name: string]: Parameter };
export type Parameters = { readonly [name: string]: Parameter };

/** What the program needs to know of an op; the whole entry is `Op` in `runtime/ops/op.ts`. */
export interface OpReference {
  readonly id: string;
}

export interface Equation<O extends OpReference = OpReference> {
  readonly op: O;
  readonly inputs: readonly Atom[];
  readonly parameters: Parameters;
  readonly outputs: readonly Variable[];
  /** The user's line; for what differentiation made, the line of the equation that it is the gradient of. */
  readonly place: Place | undefined;
  readonly role?: 'gradient' | 'again';
}

export interface Program<O extends OpReference = OpReference> {
  readonly inputs: readonly Variable[];
  /** Further inputs whose values were closed over; `value` is an array of the runtime, opaque here. */
  readonly captures: readonly { readonly variable: Variable; readonly value: unknown }[];
  readonly equations: readonly Equation<O>[];
  readonly outputs: readonly Atom[];
  /** Name of the traced function, for people. */
  readonly name: string;
}

/** What every operand is, whoever interprets it: an array, a tracer, or an abstract value of the analysis. */
export interface HasAval {
  readonly aval: Aval;
}
