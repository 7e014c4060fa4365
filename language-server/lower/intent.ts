/**
 * What a fix wants, before it is text.
 *
 * Rules speak of arrays, calls and places; `edits` turns an intent into the author's own style, or says why it can't.
 * `safe` is the rule's claim, made only with proof for every execution of the project. Depends on: ir.
 */
import type { Span } from './ir.ts';

export type Intent = { readonly title: string; readonly safe: boolean; readonly disabled?: string } &
  /** Add `donateArgnums: positions` to the `jit(…)` call at `jit` (or extend what is there). */
  (
    | { readonly kind: 'donateAtJit'; readonly jit: Span; readonly positions: readonly number[]; readonly deadDisposes: readonly Span[] }
    /** Wrap the argument at `argument` in `donate(…)`. */
    | { readonly kind: 'donateAtCall'; readonly argument: Span; readonly deadDisposes: readonly Span[] }
    /** Drop `position` from the donation options of the `jit` call at `jit`; dispose `name` after `after`. */
    | { readonly kind: 'dropDonation'; readonly jit: Span; readonly position: number; readonly after?: Span; readonly name?: string }
    /** Turn `donate(x)` at `argument` back into `x`; dispose `name` after `after`. */
    | { readonly kind: 'dropDonateMark'; readonly argument: Span; readonly after?: Span; readonly name?: string }
    /**
     * Insert `name.dispose()` (or `destroy()`, by `verb`) after the statement that contains `after`; with `declaration`, after
     * the statement of that declaration's block. What that statement returns is kept in a constant until then.
     */
    | { readonly kind: 'disposeAfter'; readonly name: string; readonly verb: string; readonly after: Span; readonly declaration?: Span }
    /** Call `verb` on the result of the expression at `use`, which nobody takes. */
    | { readonly kind: 'disposeResult'; readonly use: Span; readonly verb: string }
    /** `x = f(x)` at `assignment` loses what `name` held: keep the new value aside, free the old one (when there is one: `optional`), then assign. */
    | { readonly kind: 'disposeReplaced'; readonly assignment: Span; readonly verb: string; readonly optional: boolean }
    /** Free what `delete` at `removal` forgets: `object.key.dispose()` before it. */
    | { readonly kind: 'disposeRemoved'; readonly removal: Span; readonly verb: string }
    /** Move the statement that contains `use` before the one that contains `before`. */
    | { readonly kind: 'readEarlier'; readonly use: Span; readonly before: Span }
    /** Move the statement at `dispose` to after the statement that contains `after`. */
    | { readonly kind: 'moveDispose'; readonly dispose: Span; readonly after: Span }
    /** Remove the statement at `statement`. */
    | { readonly kind: 'removeStatement'; readonly statement: Span }
    /** Turn `const`/`let` at `declaration` into `using`. */
    | { readonly kind: 'using'; readonly declaration: Span; readonly name: string }
    /** Free `name` on every path: `try { … } finally { name.dispose() }` from the statement after `declaration` to the end of its block. */
    | { readonly kind: 'tryFinally'; readonly declaration: Span; readonly name: string; readonly verb: string }
    /** Wrap the expression or statements at `span` in `tidy(() => …)` or `scope(() => …)`. */
    | { readonly kind: 'scope'; readonly span: Span; readonly with: 'tidy' | 'scope' }
    /** Return the array from the scope at `scope`, await outside what reads it, and free it then. */
    | { readonly kind: 'splitScope'; readonly scope: Span; readonly verb: string }
    /** Await the call at `call`. */
    | { readonly kind: 'awaitCall'; readonly call: Span }
    /** Return what the statement at `store` stores, and store it where the traced function is called. */
    | { readonly kind: 'returnStored'; readonly store: Span }
    /** Append `.ref` to the expression at `use`, or to the receiver of the call there. */
    | { readonly kind: 'addRef'; readonly use: Span; readonly receiver?: boolean }
    /** Remove the `.ref` at `use`. */
    | { readonly kind: 'dropRef'; readonly use: Span }
    /** Append `.copy()` (or the library's word for it) to the expression at `use`. */
    | { readonly kind: 'copyBefore'; readonly use: Span; readonly verb: string }
    /** Move the `jit(…)` at `jit` out of the function or loop. */
    | { readonly kind: 'hoistJit'; readonly jit: Span }
    /** Pass what is captured at `use` as an argument of the function compiled at `jit`. */
    | { readonly kind: 'captureToArgument'; readonly use: Span; readonly jit: Span; readonly name: string }
    /** Wrap the function declared at `declaration` in `checkpoint(…)`. */
    | { readonly kind: 'checkpoint'; readonly declaration: Span; readonly name: string }
    /** Read the scalar at `use` to the host (`await x.item()`). */
    | { readonly kind: 'readToHost'; readonly use: Span }
    /** Add a `dispose()` method that frees `fields` to the class at `class`. */
    | { readonly kind: 'addDispose'; readonly class: Span; readonly fields: readonly string[]; readonly verb: string }
    /** Remove the suppression comment at `comment`. */
    | { readonly kind: 'removeComment'; readonly comment: Span }
  );
