/**
 * Intents as text: what each edit makes of programs in several manners of writing.
 *
 * A row is source with `«` and `»` around the span that the intent speaks of, and the text after the edit.
 * Depends on: language-server/edits.
 */
import assert from 'node:assert/strict';
import ts from 'typescript';
import { fixOf } from '../../language-server/edits/fixes.ts';
import type { Intent } from '../../language-server/lower/intent.ts';
import type { Span } from '../../language-server/lower/ir.ts';
import type { Edit, Fix } from '../../language-server/protocol.ts';

interface Row {
  readonly title: string;
  readonly intent: (span: Span, others: readonly Span[]) => Intent;
  /** `«…»` is the place; further pairs are further spans (statements to take away). */
  readonly before: string;
  /** Undefined: the edit isn't offered. */
  readonly after: string | undefined;
  readonly file?: string;
}

const common = { title: 'fix', safe: true } as const;
const donate =
  (positions: readonly number[]) =>
  (jit: Span, deadDisposes: readonly Span[]): Intent => ({ ...common, kind: 'donateAtJit', jit, positions, deadDisposes });

const rows: readonly Row[] = [
  {
    title: 'options are added to a jit on one line',
    intent: donate([0]),
    before: `import { jit } from 'tidemark';\nconst step = «jit(f)»;\n`,
    after: `import { jit } from 'tidemark';\nconst step = jit(f, { donateArgnums: [0] });\n`,
  },
  {
    title: 'options come behind an arrow of several lines',
    intent: donate([0, 1]),
    before: `const step = «jit((a: Array): Array => {\n  return a;\n})»;\n`,
    after: `const step = jit((a: Array): Array => {\n  return a;\n}, { donateArgnums: [0, 1] });\n`,
  },
  {
    title: 'options get a line of their own where the function has one',
    intent: donate([0]),
    before: `const step = «jit(\n  (a: Array): Array => a.mul(2),\n)»;\n`,
    after: `const step = jit(\n  (a: Array): Array => a.mul(2),\n  { donateArgnums: [0] },\n);\n`,
  },
  {
    title: 'without a trailing comma none is added',
    intent: donate([0]),
    before: `const step = «jit(\n\t(a) => a.mul(2)\n)»\n`,
    after: `const step = jit(\n\t(a) => a.mul(2),\n\t{ donateArgnums: [0] }\n)\n`,
    file: 'a.js',
  },
  {
    title: 'an options object is extended',
    intent: donate([0]),
    before: `const step = «jit(f, { staticArgnums: [1] })»;\n`,
    after: `const step = jit(f, { staticArgnums: [1], donateArgnums: [0] });\n`,
  },
  {
    title: 'an options object of several lines is extended by a line',
    intent: donate([0]),
    before: `const step = «jit(f, {\n  staticArgnums: [1],\n})»;\n`,
    after: `const step = jit(f, {\n  staticArgnums: [1],\n  donateArgnums: [0],\n});\n`,
  },
  {
    title: 'braces stay tight where they are tight',
    intent: donate([2]),
    before: `import {jit} from "tidemark";\nconst step = «jit(f)»\n`,
    after: `import {jit} from "tidemark";\nconst step = jit(f, {donateArgnums: [2]})\n`,
  },
  {
    title: 'donated positions are merged, a number becomes a list',
    intent: donate([2, 1]),
    before: `const step = «jit(f, { donateArgnums: 0 })»;\n`,
    after: `const step = jit(f, { donateArgnums: [0, 1, 2] });\n`,
  },
  {
    title: 'options that are a variable are left alone',
    intent: donate([0]),
    before: `const step = «jit(f, options)»;\n`,
    after: undefined,
  },
  {
    title: 'donated positions that are a variable are left alone',
    intent: donate([0]),
    before: `const step = «jit(f, { donateArgnums: positions })»;\n`,
    after: undefined,
  },
  {
    title: 'disposals of what is donated go with it',
    intent: donate([0]),
    before: `const step = «jit(f)»;\nfunction run() {\n  const next = step(w);\n  «w.dispose();»\n  w = next;\n}\n`,
    after: `const step = jit(f, { donateArgnums: [0] });\nfunction run() {\n  const next = step(w);\n  w = next;\n}\n`,
  },
  {
    title: 'line ends of the file are kept',
    intent: donate([0]),
    before: `const step = «jit(\r\n  f,\r\n)»;\r\n`,
    after: `const step = jit(\r\n  f,\r\n  { donateArgnums: [0] },\r\n);\r\n`,
  },
  {
    title: 'donate() is imported in its alphabetical place',
    intent: (argument) => ({ ...common, kind: 'donateAtCall', argument, deadDisposes: [] }),
    before: `import { jit, np, type Array } from 'tidemark';\nconst y = f(«x», 2);\n`,
    after: `import { donate, jit, np, type Array } from 'tidemark';\nconst y = f(donate(x), 2);\n`,
  },
  {
    title: 'donate() of a namespace import is written with it',
    intent: (argument) => ({ ...common, kind: 'donateAtCall', argument, deadDisposes: [] }),
    before: `import * as td from 'tidemark';\nconst grad = 1;\nconst y = f(«x»);\n`,
    after: `import * as td from 'tidemark';\nconst grad = 1;\nconst y = f(td.donate(x));\n`,
  },
  {
    title: 'a name that is taken gets an alias',
    intent: (argument) => ({ ...common, kind: 'donateAtCall', argument, deadDisposes: [] }),
    before: `import { jit } from 'tidemark';\nconst donate = 1;\nconst y = f(«x»);\n`,
    after: `import { donate as donateArray, jit } from 'tidemark';\nconst donate = 1;\nconst y = f(donateArray(x));\n`,
  },
  {
    title: 'one of two donations is dropped and the array disposed instead',
    intent: (jit, [call]) => ({ ...common, kind: 'dropDonation', jit, position: 1, after: call!, name: 'to' }),
    before: `const mix = «jit(f, { donateArgnums: [0, 1] })»;\nconst middle = «mix(from, to)»;\n`,
    after: `const mix = jit(f, { donateArgnums: [0] });\nconst middle = mix(from, to);\nto.dispose();\n`,
  },
  {
    title: 'the last donation takes the options with it',
    intent: (jit) => ({ ...common, kind: 'dropDonation', jit, position: 0 }),
    before: `const gram = «jit((x) => x, { donateArgnums: [0] })»;\n`,
    after: `const gram = jit((x) => x);\n`,
  },
  {
    title: 'a donation by name is dropped by its parameter',
    intent: (jit) => ({ ...common, kind: 'dropDonation', jit, position: 1 }),
    before: `const f = «jit((a, b) => a, { donateArgnames: ['a', 'b'], memory: 'min' })»;\n`,
    after: `const f = jit((a, b) => a, { donateArgnames: ['a'], memory: 'min' });\n`,
  },
  {
    title: 'a mark at a call is dropped',
    intent: (argument) => ({ ...common, kind: 'dropDonateMark', argument, after: argument, name: 'layer' }),
    before: `{\n  canvas = composite(canvas, «donate(layer)»);\n}\n`,
    after: `{\n  canvas = composite(canvas, layer);\n  layer.dispose();\n}\n`,
  },
  {
    title: 'a dispose goes behind the statement and its comment',
    intent: (after) => ({ ...common, kind: 'disposeAfter', name: 'x', verb: 'dispose', after }),
    before: `function f() {\n  const y = «g(x)»; // last use\n  return y;\n}\n`,
    after: `function f() {\n  const y = g(x); // last use\n  x.dispose();\n  return y;\n}\n`,
  },
  {
    title: 'nothing is put behind a return',
    intent: (after) => ({ ...common, kind: 'disposeAfter', name: 'x', verb: 'dispose', after }),
    before: `function f() {\n  return «g(x)»;\n}\n`,
    after: undefined,
  },
  {
    title: 'a dispose moves behind the last use',
    intent: (dispose, [after]) => ({ ...common, kind: 'moveDispose', dispose, after: after! }),
    before: `{\n  «x.dispose();»\n  const y = «f(x)»;\n  g(y);\n}\n`,
    after: `{\n  const y = f(x);\n  x.dispose();\n  g(y);\n}\n`,
  },
  {
    title: 'const becomes using',
    intent: (declaration) => ({ ...common, kind: 'using', declaration, name: 'x' }),
    before: `{\n  const «x» = np.ones([2]);\n}\n`,
    after: `{\n  using x = np.ones([2]);\n}\n`,
  },
  {
    title: 'let does not become using',
    intent: (declaration) => ({ ...common, kind: 'using', declaration, name: 'x' }),
    before: `{\n  let «x» = np.ones([2]);\n}\n`,
    after: undefined,
  },
  {
    title: 'the rest of the block is tried',
    intent: (declaration) => ({ ...common, kind: 'tryFinally', declaration, name: 'x', verb: 'dispose' }),
    before: `async function f() {\n    const «x» = make();\n    const y = await x.data();\n    return y;\n}\n`,
    after: `async function f() {\n    const x = make();\n    try {\n        const y = await x.data();\n        return y;\n    } finally {\n        x.dispose();\n    }\n}\n`,
  },
  {
    title: 'an expression is wrapped in tidy',
    intent: (span) => ({ ...common, kind: 'scope', span, with: 'tidy' }),
    before: `import * as tf from '@tensorflow/tfjs';\nconst y = «x.mul(2).sum()»;\n`,
    after: `import * as tf from '@tensorflow/tfjs';\nconst y = tf.tidy(() => x.mul(2).sum());\n`,
  },
  {
    title: 'the statements of a function are wrapped in scope',
    intent: (span) => ({ ...common, kind: 'scope', span, with: 'scope' }),
    before: `import { np } from 'tidemark'\nfunction f(x) «{\n  const y = x.mul(2)\n  return y.sum()\n}»\n`,
    after: `import { np, scope } from 'tidemark'\nfunction f(x) {\n  return scope(() => {\n    const y = x.mul(2)\n    return y.sum()\n  })\n}\n`,
    file: 'a.js',
  },
  { title: 'a reference is taken', intent: (use) => ({ ...common, kind: 'addRef', use }), before: `f(«x», x);\n`, after: `f(x.ref, x);\n` },
  {
    title: 'a reference of a choice is taken in parentheses',
    intent: (use) => ({ ...common, kind: 'addRef', use }),
    before: `f(«a ? b : c»);\n`,
    after: `f((a ? b : c).ref);\n`,
  },
  {
    title: 'a short property is written out',
    intent: (use) => ({ ...common, kind: 'addRef', use }),
    before: `f({ «w», b });\n`,
    after: `f({ w: w.ref, b });\n`,
  },
  {
    title: 'an additional reference is dropped',
    intent: (use) => ({ ...common, kind: 'dropRef', use }),
    before: `f(«x.ref»);\n`,
    after: `f(x);\n`,
  },
  {
    title: 'a copy is made',
    intent: (use) => ({ ...common, kind: 'copyBefore', use, verb: 'copy' }),
    before: `combine(a, «a»);\n`,
    after: `combine(a, a.copy());\n`,
  },
  {
    title: 'jit leaves a loop',
    intent: (jit) => ({ ...common, kind: 'hoistJit', jit }),
    before: `function run(x) {\n  for (;;) {\n    const cool = «jit((v) => v.mul(2))»;\n    x = cool(x);\n  }\n}\n`,
    after: `const cool = jit((v) => v.mul(2));\n\nfunction run(x) {\n  for (;;) {\n    x = cool(x);\n  }\n}\n`,
    file: 'a.js',
  },
  {
    title: 'jit of a closure over locals stays',
    intent: (jit) => ({ ...common, kind: 'hoistJit', jit }),
    before: `function run(x, k) {\n  return «jit((v) => v.mul(k))»(x);\n}\n`,
    after: undefined,
  },
  {
    title: 'a function declaration becomes a checkpointed constant',
    intent: (declaration) => ({ ...common, kind: 'checkpoint', declaration, name: 'block' }),
    before: `import { grad, jit } from 'tidemark';\n\nfunction «block»(x: Array, w: Array): Array {\n  return x.matmul(w);\n}\n`,
    after: `import { checkpoint, grad, jit } from 'tidemark';\n\nconst block = checkpoint((x: Array, w: Array): Array => {\n  return x.matmul(w);\n});\n`,
  },
  {
    title: 'a scalar is read to the host in an async function',
    intent: (use) => ({ ...common, kind: 'readToHost', use }),
    before: `async function f() {\n  losses.push(«loss»);\n}\n`,
    after: `async function f() {\n  losses.push(await loss.item());\n}\n`,
  },
  {
    title: 'a scalar is not read where await may not stand',
    intent: (use) => ({ ...common, kind: 'readToHost', use }),
    before: `function f() {\n  losses.push(«loss»);\n}\n`,
    after: undefined,
  },
  {
    title: 'a class gets a dispose',
    intent: (span) => ({ ...common, kind: 'addDispose', class: span, fields: ['w', 'b'], verb: 'dispose' }),
    before: `export «class Net» {\n  w = np.ones([2]);\n  b?: Array;\n}\n`,
    after: `export class Net {\n  w = np.ones([2]);\n  b?: Array;\n\n  dispose(): void {\n    this.w.dispose();\n    this.b?.dispose();\n  }\n}\n`,
  },
  {
    title: 'a comment goes with its line',
    intent: (comment) => ({ ...common, kind: 'removeComment', comment }),
    before: `a();\n  «// tidemark-ignore leak: no»\nb();\n`,
    after: `a();\nb();\n`,
  },
];

describe('edits', () => {
  for (const row of rows) {
    it(row.title, () => {
      const { text, spans, file } = marked(row);
      const fix = fixOf(row.intent(spans[0]!, spans.slice(1)), (path) => (path === file ? text : undefined));
      if (row.after === undefined) {
        assert.ok(fix.disabled !== undefined, `expected no edit, got ${JSON.stringify(fix.edits)}`);
        return;
      }
      assert.equal(fix.disabled, undefined);
      const after = applied(text, fix);
      assert.equal(after, row.after);
      assert.deepEqual(syntaxErrors(file, after), []);
    });
  }

  it('passes a captured array at every call', () => {
    const before = `const table: Array = load();\nconst look = jit((x: Array) => np.take(table, x).add(table));\nlook(a);\nlook(b);\n`;
    const file = '/work/a.ts';
    const span = (text: string): Span => ({ file, start: before.indexOf(text), end: before.indexOf(text) + text.length });
    const use = { ...span('table, x'), end: span('table, x').start + 5 };
    const fix = fixOf(
      { ...common, kind: 'captureToArgument', use, jit: span('jit((x: Array) => np.take(table, x).add(table))'), name: 'table' },
      () => before,
    );
    assert.equal(
      applied(before, fix),
      `const table: Array = load();\nconst look = jit((x: Array, table: Array) => np.take(table, x).add(table));\nlook(a, table);\nlook(b, table);\n`,
    );
  });
});

function marked({ before, file = 'a.ts' }: Row): { text: string; spans: readonly Span[]; file: string } {
  const path = `/work/${file}`;
  const open: number[] = [];
  const spans: { order: number; span: Span }[] = [];
  let text = '';
  let order = 0;
  for (const character of before) {
    if (character === '«') open.push(text.length);
    else if (character === '»') spans.push({ order: order++, span: { file: path, start: open.pop()!, end: text.length } });
    else text += character;
  }
  return { text, spans: spans.toSorted((a, b) => a.span.start - b.span.start || a.order - b.order).map(({ span }) => span), file: path };
}

function applied(text: string, fix: Fix): string {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offset = ({ line, column }: Edit['start']): number => starts[line - 1]! + column - 1;
  return fix.edits
    .toSorted((a, b) => offset(b.start) - offset(a.start) || offset(b.end) - offset(a.end))
    .reduce((now, { start, end, newText }) => now.slice(0, offset(start)) + newText + now.slice(offset(end)), text);
}

function syntaxErrors(file: string, text: string): readonly string[] {
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true) as ts.SourceFile & {
    parseDiagnostics: readonly ts.Diagnostic[];
  };
  return tree.parseDiagnostics.map(({ messageText }) => String(messageText));
}
