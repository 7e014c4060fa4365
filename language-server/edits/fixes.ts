/**
 * From an intent to a fix: the table of contents of this folder, and the only entrance to it.
 *
 * An intent that can't be carried out in the author's text becomes a disabled fix that says why; nothing half-done is
 * offered. Depends on: edit and one file per intent, lower (intent), protocol.
 */
import type { Intent } from '../lower/intent.ts';
import type { Span } from '../lower/ir.ts';
import type { Edit, Fix } from '../protocol.ts';
import { captureToArgument } from './capture.ts';
import { isUsedBefore, wrapInCheckpoint } from './checkpoint.ts';
import { addDispose, readToHost } from './class.ts';
import {
  disposeAfter,
  disposeRemoved,
  disposeReplaced,
  moveStatement,
  readEarlier,
  removeComment,
  removeStatement,
  toUsing,
  tryFinally,
} from './dispose.ts';
import { donateAtCall, donateAtJit, dropDonate, dropDonation } from './donate.ts';
import { source, statementAt, toEdits, removal, type Change, type Source } from './edit.ts';
import { hoistJit } from './hoist-jit.ts';
import { arrayModule } from './imports.ts';
import { dropSuffix, receiverSuffix, suffix } from './ref.ts';
import { returnStored } from './return-stored.ts';
import { wrapInScope } from './scope.ts';
import { awaitCall, splitScope } from './split-scope.ts';

/** The text of a file as it is being analysed. */
export type TextOf = (file: string) => string | undefined;

export function fixOf(intent: Intent, textOf: TextOf): Fix {
  const { title, safe } = intent;
  if (intent.disabled !== undefined) return { title, safe: false, edits: [], disabled: intent.disabled };
  const sources = new Map<string, Source>();
  const open = (file: string): Source | undefined => {
    const text = textOf(file);
    const known = sources.get(file);
    if (known !== undefined || text === undefined) return known;
    const made = source(file, text);
    sources.set(file, made);
    return made;
  };
  const changes = changesFor(intent, open);
  if (changes === undefined) return { title, safe: false, edits: [], disabled: 'the text here has a form that this fix does not know' };
  const edits: Edit[] = [];
  for (const [file, list] of changes) {
    const from = open(file);
    if (from !== undefined) edits.push(...toEdits(from, list));
  }
  return edits.length === 0 ? { title, safe: false, edits, disabled: 'there is nothing to change' } : { title, safe, edits };
}

type Changes = ReadonlyMap<string, readonly Change[]>;

function changesFor(intent: Intent, open: (file: string) => Source | undefined): Changes | undefined {
  const place = placeOf(intent);
  const file = open(place.file);
  if (file === undefined) return undefined;
  const own = inFile(intent, file);
  if (own === undefined) return undefined;
  const all = new Map<string, Change[]>([[file.path, [...own]]]);
  for (const statement of 'deadDisposes' in intent ? intent.deadDisposes : []) {
    const other = open(statement.file);
    const node = other === undefined ? undefined : statementAt(other, statement.start, statement.end);
    if (other === undefined || node === undefined) continue;
    const list = all.get(statement.file) ?? [];
    all.set(statement.file, [...list, removal(other, node)]);
  }
  return all;
}

function placeOf(intent: Intent): Span {
  switch (intent.kind) {
    case 'donateAtJit':
    case 'dropDonation':
    case 'hoistJit':
    case 'captureToArgument':
      return intent.jit;
    case 'donateAtCall':
    case 'dropDonateMark':
      return intent.argument;
    case 'disposeAfter':
      return intent.after;
    case 'moveDispose':
      return intent.dispose;
    case 'removeStatement':
      return intent.statement;
    case 'using':
    case 'tryFinally':
    case 'checkpoint':
      return intent.declaration;
    case 'scope':
      return intent.span;
    case 'splitScope':
      return intent.scope;
    case 'awaitCall':
      return intent.call;
    case 'returnStored':
      return intent.store;
    case 'addRef':
    case 'dropRef':
    case 'copyBefore':
    case 'disposeResult':
    case 'readEarlier':
    case 'readToHost':
      return intent.use;
    case 'disposeReplaced':
      return intent.assignment;
    case 'disposeRemoved':
      return intent.removal;
    case 'addDispose':
      return intent.class;
    case 'removeComment':
      return intent.comment;
  }
}

/** Changes in the file of the intent's place; undefined when its text has another form. */
function inFile(intent: Intent, file: Source): readonly Change[] | undefined {
  switch (intent.kind) {
    case 'donateAtJit':
      return donateAtJit(file, intent.jit.start, intent.jit.end, intent.positions);
    case 'donateAtCall':
      return donateAtCall(file, intent.argument.start, intent.argument.end, arrayModule(file));
    case 'dropDonation':
      return dropped(intent, file, dropDonation(file, { jit: intent.jit, argnum: intent.position }));
    case 'dropDonateMark':
      return dropped(intent, file, dropDonate(file, intent.argument.start, intent.argument.end));
    case 'disposeAfter':
      return intent.declaration !== undefined && intent.declaration.file !== file.path
        ? undefined
        : disposeAfter(file, intent.after, intent.name, intent.verb, intent.declaration);
    case 'disposeResult':
      return suffix(file, intent.use.start, intent.use.end, `.${intent.verb}()`);
    case 'disposeReplaced':
      return disposeReplaced(file, intent.assignment, intent.verb, intent.optional);
    case 'disposeRemoved':
      return disposeRemoved(file, intent.removal.start, intent.removal.end, intent.verb);
    case 'readEarlier':
      return intent.before.file === file.path ? readEarlier(file, intent.use, intent.before) : undefined;
    case 'moveDispose':
      return intent.after.file === file.path ? moveStatement(file, intent.dispose, intent.after) : undefined;
    case 'removeStatement':
      return removeStatement(file, intent.statement.start, intent.statement.end);
    case 'using':
      return toUsing(file, intent.declaration.start, intent.declaration.end);
    case 'tryFinally':
      return tryFinally(file, intent.declaration.start, intent.declaration.end, intent.name, intent.verb);
    case 'scope':
      return wrapInScope(file, intent.span.start, intent.span.end, intent.with, arrayModule(file));
    case 'splitScope':
      return splitScope(file, intent.scope.start, intent.scope.end, intent.verb);
    case 'awaitCall':
      return awaitCall(file, intent.call.start, intent.call.end);
    case 'returnStored':
      return returnStored(file, intent.store.start, intent.store.end);
    case 'addRef':
      return intent.receiver === true
        ? receiverSuffix(file, intent.use.start, intent.use.end, '.ref')
        : suffix(file, intent.use.start, intent.use.end, '.ref');
    case 'dropRef':
      return dropSuffix(file, intent.use.start, intent.use.end);
    case 'copyBefore':
      return suffix(file, intent.use.start, intent.use.end, `.${intent.verb}()`);
    case 'hoistJit':
      return hoistJit(file, intent.jit.start, intent.jit.end);
    case 'captureToArgument':
      return intent.use.file === file.path ? captureToArgument(file, intent.use, intent.jit) : undefined;
    case 'checkpoint':
      return isUsedBefore(file, intent.declaration.start, intent.declaration.end)
        ? undefined
        : wrapInCheckpoint(file, intent.declaration.start, intent.declaration.end, arrayModule(file));
    case 'readToHost':
      return readToHost(file, intent.use.start, intent.use.end);
    case 'addDispose':
      return addDispose(file, intent.class.start, intent.class.end, intent.fields, intent.verb);
    case 'removeComment':
      return removeComment(file, intent.comment.start, intent.comment.end);
  }
}

/** Without the donation the array has to be freed behind the call. */
function dropped(
  intent: { readonly after?: Span; readonly name?: string },
  file: Source,
  changes: readonly Change[] | undefined,
): readonly Change[] | undefined {
  if (changes === undefined || intent.after === undefined || intent.name === undefined) return changes;
  if (intent.after.file !== file.path) return undefined;
  const dispose = disposeAfter(file, intent.after, intent.name, 'dispose');
  return dispose === undefined ? undefined : [...changes, ...dispose];
}
