/**
 * Variables of functions that are on the stack, set by functions in them.
 *
 * Depends on: state, values.
 */
import type { Frame, State } from './state.ts';
import type { ObjectId, Value } from './values.ts';

/**
 * A variable of a function that is running gets a value from a function in it; true when it is running. Frames below the
 * topmost are shared with other paths, so those that change are new ones.
 */
export function setInFrames(state: State, environment: ObjectId, variable: string, value: Value): boolean {
  let found = false;
  const changed = (frame: Frame): Frame => {
    const parent = frame.parent === undefined ? undefined : changed(frame.parent);
    const local = frame.environment === environment ? frame.fn.locals.findIndex(({ unique }) => unique === variable) : -1;
    found ||= frame.environment === environment;
    if (local >= 0) return { ...frame, parent, locals: new Map(frame.locals).set(local, value) };
    return parent === frame.parent ? frame : { ...frame, parent };
  };
  state.frame = changed(state.frame);
  return found;
}
