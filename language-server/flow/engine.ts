/**
 * What the parts of the walk need of each other: events call functions, functions run events.
 *
 * Depends on: state, values, collector, arrays.
 */
import type { CallEvent, Event, FunctionId, LoweredClass, LoweredFunction, Project, Span, TypeFact } from '../lower/ir.ts';
import type { Walk } from './arrays.ts';
import type { State } from './state.ts';
import type { Later, Node, ObjectId, Value } from './values.ts';

/** One way out of a call, with the state that takes it. */
export interface Exit {
  readonly state: State;
  readonly kind: 'return' | 'throw';
  readonly value: Value;
}

export interface CallSite {
  readonly span: Span;
  readonly nameSpan: Span;
  /** In a loop of its function. */
  readonly repeated: boolean;
  readonly type: TypeFact;
  /** The event, where there is one. */
  readonly event?: CallEvent;
  /** A promise calls it, once the code that asked for it has gone on. */
  readonly deferred?: boolean;
  /** Distinguishes several calls of one place (elements of a map). */
  readonly tag?: string;
}

export interface Engine extends Walk {
  readonly project: Project;
  callFunction(
    state: State,
    fn: LoweredFunction,
    environment: ObjectId | undefined,
    self: Value | undefined,
    args: readonly Value[],
    site: CallSite,
  ): readonly Exit[];
  callValue(state: State, target: Value, self: Value | undefined, args: readonly Value[], site: CallSite): readonly Exit[];
  construct(
    state: State,
    cls: LoweredClass,
    args: readonly Value[],
    site: CallSite,
    instance?: Value,
    environment?: ObjectId,
  ): readonly Exit[];
  ownFields(state: State, cls: LoweredClass, self: Value | undefined, args: readonly Value[], site: CallSite): readonly Exit[];
  moduleEnvironment(state: State, module: FunctionId): ObjectId | undefined;
  /** Runs callbacks that were left for later. */
  runLater(state: State): readonly State[];
  later(state: State, value: Value, span: Span, how?: Later['how']): void;
  /** An unknown value of a type, for parameters and results of unknown calls. */
  unknown(state: State, type: TypeFact, site: string, origin: 'here' | 'caller', span: Span | undefined, name?: string): Value;
  dropped(state: State): (id: ObjectId, node: Node) => void;
}

export const returned = (state: State, value: Value): readonly Exit[] => [{ state, kind: 'return', value }];
export type { Event };

/** Continues each normal exit; passes throws on. */
export function then(exits: readonly Exit[], next: (state: State, value: Value) => readonly Exit[]): readonly Exit[] {
  const [only] = exits;
  if (only !== undefined && exits.length === 1 && only.kind === 'return') return next(only.state, only.value);
  return exits.flatMap((exit) => (exit.kind === 'throw' ? [exit] : next(exit.state, exit.value)));
}
