/**
 * One call on the stack of a path: its locals, and what is remembered of how it was called.
 *
 * Frames are shared between paths until one of them changes its own. Depends on: references, values, lower/ir.
 */
import type { Local, LoweredFunction, Span } from '../lower/ir.ts';
import { mapList } from './references.ts';
import { objectValue, type ObjectId, type Value } from './values.ts';

export interface Frame {
  readonly fn: LoweredFunction;
  readonly locals: Map<Local, Value>;
  readonly environment: ObjectId;
  readonly context: string;
  readonly parent: Frame | undefined;
  /** The call stands in a loop of the caller, or is a callback that runs many times. */
  readonly repeated: boolean;
  readonly callSpan: Span | undefined;
  readonly self: Value | undefined;
  /** Arrays read after the first `await`. */
  readonly readLater: { readonly id: ObjectId; readonly span: Span }[];
  awaited: boolean;
  /** Arrays that were dead when they were passed, and where: their use here is the caller's mistake. */
  readonly passedDead: ReadonlyMap<ObjectId, Span>;
  readonly yields: Value[];
}

export function copyFrame(frame: Frame): Frame {
  const { fn, environment, context, parent, repeated, callSpan, self, awaited, passedDead } = frame;
  // Spelt out: made for every path and call.
  return {
    fn,
    locals: new Map(frame.locals),
    environment,
    context,
    parent,
    repeated,
    callSpan,
    self,
    readLater: [...frame.readLater],
    awaited,
    passedDead,
    yields: [...frame.yields],
  };
}

/** The same frame when nothing in it changes. */
export function mapFrame(frame: Frame, map: (value: Value) => Value): Frame {
  let locals: Map<Local, Value> | undefined;
  for (const [local, value] of frame.locals) {
    const next = map(value);
    if (next !== value) (locals ??= new Map(frame.locals)).set(local, next);
  }
  const yields = mapList(frame.yields, map);
  const self = frame.self === undefined ? undefined : map(frame.self);
  const parent = frame.parent === undefined ? undefined : mapFrame(frame.parent, map);
  const passedDead = mapKeys(frame.passedDead, map);
  const readLater = frame.readLater.map(({ id, span }) => ({ id: idAfter(id, map), span }));
  const sameReads = readLater.every(({ id }, i) => id === frame.readLater[i]!.id);
  if (
    sameReads &&
    locals === undefined &&
    yields === frame.yields &&
    self === frame.self &&
    parent === frame.parent &&
    passedDead === frame.passedDead
  )
    return frame;
  return { ...frame, locals: locals ?? frame.locals, yields: [...yields], self, parent, passedDead, readLater };
}

/** What stands under the names of objects that get others. */
function mapKeys<T>(known: ReadonlyMap<ObjectId, T>, map: (value: Value) => Value): ReadonlyMap<ObjectId, T> {
  let changed = false;
  const found = new Map<ObjectId, T>();
  for (const [id, what] of known) {
    const after = idAfter(id, map);
    changed ||= after !== id;
    found.set(after, what);
  }
  return changed ? found : known;
}

function idAfter(id: ObjectId, map: (value: Value) => Value): ObjectId {
  const value = map(objectValue(id));
  return value.kind === 'object' ? value.id : id;
}
