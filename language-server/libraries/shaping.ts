/**
 * What a library model may use to say which shapes its calls yield: the runtime's own functions, by name, applied to shapes.
 *
 * A rule gets the arguments (the receiver first) as the walk knows them: arrays, numbers, lists, and stand-ins for what is
 * not known; it yields arrays, trees of arrays, or undefined when nothing can be said. Depends on: runtime/core.
 */
import type { Aval } from '../../runtime/core/aval.ts';
import type { Dim } from '../../runtime/core/dim.ts';

export interface ShapeTools {
  /** A function of the runtime: one shape rule for all libraries. */
  run(name: string, ...args: readonly unknown[]): unknown;
  /** A new array. */
  make(shape: readonly unknown[], dtype?: unknown): unknown;
  /** A new array of which only the bytes are known. */
  buffer(bytes: Dim): unknown;
  /** The shape that arrays and numbers are broadcast to. */
  broadcast(values: readonly unknown[]): readonly Dim[] | undefined;
  /** An array of the shape of host data. */
  host(values: unknown, shape?: unknown, dtype?: unknown): unknown;
  aval(value: unknown): Aval | undefined;
  /** A number as a dimension, when that is known. */
  dim(value: unknown): Dim | undefined;
  list(value: unknown): readonly unknown[] | undefined;
}

export type ShapeRule = (args: readonly unknown[], on: ShapeTools) => unknown;
