/**
 * The server over the wire: findings with versions, lenses, hints, fixes, runs, and what it refuses.
 *
 * Depends on: wire.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { CodeAction, CodeLens, Hover, InlayHint } from 'vscode-languageserver';
import { methods, type AllocatorComparison, type KeptRun, type Marks, type ProfileOutcome } from '../../language-server/protocol.ts';
import { uriOf } from '../../language-server/lsp/convert.ts';
import { explainUri } from '../../language-server/lsp/explain-document.ts';
import type { Measure } from '../../language-server/lsp/sources.ts';
import { fact, finding, program, report, wire, type Wire, type WireOptions } from './wire.ts';

describe('language server', function () {
  let folder: string;
  let file: string;
  let server: Wire | undefined;
  const start = async (options: Omit<WireOptions, 'folder'>): Promise<Wire> => (server = await wire({ ...options, folder }));

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'tidemark lsp é ')));
    file = path.join(folder, 'train.ts');
    writeFileSync(file, program);
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  const measure: Measure = () => Promise.resolve({ state: 'done', message: null, report: report(), profileFile: null });
  const lensesOf = (wired: Wire): Promise<CodeLens[]> =>
    wired.client.sendRequest('textDocument/codeLens', { textDocument: { uri: uriOf(file) } });
  const hintsOf = (wired: Wire): Promise<InlayHint[]> =>
    wired.client.sendRequest('textDocument/inlayHint', {
      textDocument: { uri: uriOf(file) },
      range: { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } },
    });
  const profile = (wired: Wire, more: object = {}): Promise<ProfileOutcome> => wired.client.sendRequest(methods.profile, { file, ...more });
  const titles = (lenses: readonly CodeLens[]): string[] =>
    lenses.map(({ range, command }) => `${range.start.line + 1}: ${command?.title}`);

  it('pushes findings with the version they belong to', async () => {
    const wired = await start({ analysis: { diagnostics: (_, at) => Promise.resolve([finding(at, 5, 7)]) } });
    await wired.open(file, program);
    const [first] = await wired.findings(file, 1);
    assert.equal(first?.code, 'leak');
    await wired.change(file, 2, `${program}\n`);
    assert.equal((await wired.findings(file, 2)).length, 1);
  });

  it('marks where the array under the caret is written and read, and leaves what is no array to others', async () => {
    const place = (line: number, column: number, writes: boolean) => ({
      start: { line, column },
      end: { line, column: column + 5 },
      writes,
    });
    const wired = await start({
      analysis: {
        occurrences: (_, __, { line }) => Promise.resolve(line === 5 ? [place(5, 7, true), place(6, 6, false)] : undefined),
      },
    });
    await wired.open(file, program);
    const marked = (line: number): Promise<unknown> =>
      wired.client.sendRequest('textDocument/documentHighlight', {
        textDocument: { uri: uriOf(file) },
        position: { line, character: 8 },
      });
    assert.deepEqual(await marked(4), [
      { range: { start: { line: 4, character: 6 }, end: { line: 4, character: 11 } }, kind: 3 },
      { range: { start: { line: 5, character: 5 }, end: { line: 5, character: 10 } }, kind: 2 },
    ]);
    assert.equal(await marked(1), null);
  });

  it('takes findings away when a file is closed', async () => {
    const wired = await start({ analysis: { diagnostics: (_, at) => Promise.resolve([finding(at, 5, 7)]) } });
    await wired.open(file, program);
    await wired.findings(file, 1);
    const empty = new Promise((resolve) =>
      wired.client.onNotification('textDocument/publishDiagnostics', ({ diagnostics }) => resolve(diagnostics)),
    );
    await wired.client.sendNotification('textDocument/didClose', { textDocument: { uri: uriOf(file) } });
    assert.deepEqual(await empty, []);
  });

  it('goes on after a fault in the analysis', async () => {
    let asked = 0;
    const wired = await start({
      analysis: {
        diagnostics: (_, at) => ((asked += 1) === 1 ? Promise.reject(new Error('broken')) : Promise.resolve([finding(at, 5, 7)])),
      },
    });
    await wired.open(file, program);
    await wired.change(file, 2, `${program} `);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await wired.change(file, 3, `${program}  `);
    assert.equal((await wired.findings(file, 3)).length, 1);
  });

  it('drops answers for a text that has changed meanwhile', async () => {
    const seen: string[] = [];
    const wired = await start({
      analysis: {
        setText: (_, text) => void seen.push(text ?? ''),
        diagnostics: async (token, at) => {
          const text = seen.at(-1)!;
          await new Promise((resolve) => setTimeout(resolve, 120));
          assert.ok(text !== '' || token.isCancelled);
          return [finding(at, 1, 1, { message: text.includes('second') ? 'second' : 'first' })];
        },
      },
    });
    const versions: number[] = [];
    wired.client.onNotification('tidemark/none', () => undefined);
    await wired.open(file, 'const a = "first";');
    await new Promise((resolve) => setTimeout(resolve, 130));
    await wired.change(file, 2, 'const a = "second";');
    const found = await wired.findings(file, 1);
    versions.push(found.length);
    assert.equal(found[0]?.message, 'second');
  });

  it('offers a lens on files that use arrays, and none on others', async () => {
    const wired = await start({});
    await wired.open(file, program);
    await wired.findings(file, 1);
    assert.deepEqual(titles(await lensesOf(wired)), ['1: ▶ Profile memory', '2: ▶ Profile memory']);
    const other = path.join(folder, 'other.ts');
    await wired.open(other, 'export const one = 1;');
    await wired.findings(other, 1);
    assert.deepEqual(await wired.client.sendRequest('textDocument/codeLens', { textDocument: { uri: uriOf(other) } }), []);
  });

  it('shows estimate, measured peak and what a donation saves above a function', async () => {
    const saving = {
      rule: 'missed-donation',
      severity: 'info' as const,
      savesBytes: 4 * 2 ** 20,
      message: 'donating `x` would lower the peak',
    };
    const wired = await start({
      measure,
      analysis: {
        functions: (_, at) =>
          Promise.resolve([fact(at, 'step', 2, { staticPeakBytes: 12 * 2 ** 20, staticPeak: '12·n·n + 4·n·m', peakLine: 3 })]),
        diagnostics: (_, at) => Promise.resolve([finding(at, 3, 10, saving)]),
      },
    });
    await wired.open(file, program);
    await wired.findings(file, 1);
    assert.deepEqual(titles(await lensesOf(wired)), [
      '1: ▶ Profile memory',
      '2: ▶ Profile memory',
      '2: est. 12·n² + 4·n·m B = 12.0 MiB',
      '2: donating x would save 4.0 MiB',
    ]);
    assert.equal((await profile(wired)).state, 'done');
    assert.deepEqual(titles(await lensesOf(wired)), [
      '1: ▶ Profile memory',
      '1: peak 12.0 MiB at line 3 · cpu',
      '1: timeline',
      '2: ▶ Profile memory',
      '2: est. 12·n² + 4·n·m B = 12.0 MiB',
      '2: measured 12.0 MiB',
      '2: donating x would save 4.0 MiB',
    ]);
    // Each part leads on: the run, where the estimate is reached, the timeline, the fix.
    assert.deepEqual(
      (await lensesOf(wired)).slice(3).map(({ command }) => [command?.command, ...(command?.arguments ?? []).slice(1)]),
      [['tidemark.profileFunction', 'step', 2], ['tidemark.showPeak', 3], ['tidemark.showTimeline'], ['tidemark.showFix', 3, 10]],
    );
  });

  it('says above a function how large its free dimension may be', async () => {
    const fits = { dimension: 'batch', most: 2048, budgetBytes: 2 ** 26 };
    const wired = await start({
      analysis: { functions: (_, at) => Promise.resolve([fact(at, 'step', 2, { staticPeak: '32768·batch', fits })]) },
    });
    await wired.open(file, program);
    await wired.findings(file, 1);
    assert.equal(titles(await lensesOf(wired))[2], '2: est. 32768·batch B, within 64.0 MiB up to batch = 2,048');
  });

  it('writes measured bytes at the end of lines, and marks the peak', async () => {
    const wired = await start({ measure });
    await wired.open(file, program);
    await profile(wired);
    const [hint, ...rest] = await hintsOf(wired);
    assert.equal(rest.length, 0);
    assert.equal(hint?.label, '+4.0 MiB ×2 → 12.0 MiB  ◀ peak 12.0 MiB');
    assert.deepEqual(hint?.position, { line: 2, character: '  return np.add(x, x);'.length });
    const marked = await wired.client.sendRequest<Marks>(methods.marks, { uri: uriOf(file), version: 1 });
    assert.deepEqual(
      marked.marks.map(({ line, kind }) => [line, kind]),
      [[3, 'peak']],
    );
  });

  it('opens the page that the settings name for a file', async () => {
    const started: (readonly [string, boolean])[] = [];
    const opens: Measure = ({ entry, isPage }) => {
      started.push([entry, isPage]);
      return Promise.resolve({ state: 'done', message: null, report: report(), profileFile: null });
    };
    const wired = await start({ measure: opens, settings: { profile: { entries: { 'train.ts': 'http://localhost:5173/' } } } });
    await wired.open(file, program);
    await wired.findings(file, 1);
    await profile(wired);
    assert.deepEqual(started, [['http://localhost:5173/', true]]);
  });

  it('has its numbers again after it was killed: fresh where the text is the same, stale where it is not', async () => {
    const storage = path.join(folder, 'storage');
    const first = await start({ measure, storage });
    await first.open(file, program);
    await profile(first);
    const before = await hintsOf(first);
    assert.equal(before.length, 1);
    await first.close();
    const second = await start({ measure, storage });
    await second.open(file, program);
    const again = async (wanted: number): Promise<InlayHint[]> => {
      for (let tries = 0; tries < 100; tries += 1) {
        const found = await hintsOf(second);
        if (found.length === wanted) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return hintsOf(second);
    };
    assert.deepEqual(await again(1), before);
    const kept = await second.client.sendRequest<KeptRun[]>(methods.keptRuns);
    assert.equal(kept[0]?.report.peakBytes, report().peakBytes);
    await second.change(file, 2, program.replace('np.add(x, x)', 'np.mul(x, x)'));
    assert.deepEqual(await again(0), []);
    await second.client.sendNotification(methods.clear);
    while ((await second.client.sendRequest<KeptRun[]>(methods.keptRuns)).length > 0)
      await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it('moves numbers with edits elsewhere, dims them when their function changes, and freshens them when it is restored', async () => {
    const wired = await start({ measure });
    await wired.open(file, program);
    await profile(wired);
    await wired.change(file, 2, `// a remark\n${program}`);
    assert.equal((await hintsOf(wired))[0]?.position.line, 3);
    await wired.change(file, 3, program.replace('np.add(x, x)', 'np.mul(x, x)'));
    assert.deepEqual(await hintsOf(wired), []);
    const marked = await wired.client.sendRequest<Marks>(methods.marks, { uri: uriOf(file), version: 3 });
    assert.deepEqual(
      marked.marks.map(({ line, kind }) => [line, kind]),
      [[3, 'stale']],
    );
    assert.ok(titles(await lensesOf(wired)).includes('2: measured 12.0 MiB (before the last edit)'));
    await wired.change(file, 4, program);
    assert.equal((await hintsOf(wired)).length, 1);
  });

  it('shows the numbers of a run only in files that took part in it', async () => {
    const wired = await start({ measure });
    const other = path.join(folder, 'other.ts');
    writeFileSync(other, program);
    await wired.open(file, program);
    await wired.open(other, program);
    await profile(wired);
    const shown = titles(await wired.client.sendRequest('textDocument/codeLens', { textDocument: { uri: uriOf(other) } }));
    assert.deepEqual(shown, ['1: ▶ Profile memory', '2: ▶ Profile memory']);
  });

  it('gives a compiled arrow function the name it is bound to', async () => {
    const text = [
      "import { np, jit } from 'tidemark';",
      'const step = jit((x: np.Array) => np.add(x, x));',
      'step(np.zeros([4]));',
      '',
    ].join('\n');
    const anonymous = { file: 'train.ts', name: 'anonymous', line: 3, calls: 1, peakBytes: 2 ** 21, enteredBytes: 0, jit: null };
    writeFileSync(file, text);
    const wired = await start({
      measure: () =>
        Promise.resolve({
          state: 'done',
          message: null,
          report: report({ functions: [anonymous, { ...anonymous, name: '__name', line: 1 }] }),
          profileFile: null,
        }),
    });
    await wired.open(file, text);
    assert.equal((await profile(wired, { function: 'step' })).notReached, false);
    const shown = titles(await lensesOf(wired));
    assert.ok(shown.includes('2: measured 2.0 MiB'), shown.join('\n'));
    assert.equal(shown.filter((title) => title.includes('Profile memory')).length, 2);
  });

  it('names all that a call of the function should donate, and has one link to measure on the first line', async () => {
    const text = ["export const step = (w, m) => np.add(w, m); import { np } from 'tidemark';", 'const next = step(a, b);', ''].join('\n');
    writeFileSync(file, text);
    const saving = {
      rule: 'missed-donation',
      severity: 'info' as const,
      savesBytes: 4 * 2 ** 20,
      message: '`w`, `m` and `v` are dead after this call but not donated: donating lowers its peak by 4.0 MiB',
      related: [{ file, line: 1, column: 7, endLine: 1, endColumn: 40, message: 'compiled here' }],
    };
    const wired = await start({ analysis: { diagnostics: (_, at) => Promise.resolve([finding(at, 2, 14, saving)]) } });
    await wired.open(file, text);
    await wired.findings(file, 1);
    assert.deepEqual(titles(await lensesOf(wired)), ['1: ▶ Profile memory', '1: donating w, m and v would save 4.0 MiB']);
  });

  it('runs a program once with each allocator, and nothing in an untrusted workspace', async () => {
    const asked: unknown[] = [];
    const counting: Measure = ({ settings }) => {
      asked.push([settings.memory?.allocator, settings.memory?.preallocate]);
      return Promise.resolve({ state: 'done', message: null, report: report(), profileFile: null });
    };
    const wired = await start({ measure: counting });
    const compared = await wired.client.sendRequest<AllocatorComparison>(methods.compareAllocators, { file });
    assert.equal(compared.state, 'done');
    assert.deepEqual(asked, [
      ['bfc', false],
      ['bfc', true],
      ['platform', false],
    ]);
    assert.deepEqual(
      compared.runs.map(({ name, peakBytes, fragmentation }) => [name, peakBytes, fragmentation]),
      ['bfc, grows on demand', 'bfc, preallocated', 'platform'].map((name) => [name, 12 * 2 ** 20, 0.25]),
    );
    await wired.close();
    const untrusted = await start({ measure: counting, trusted: false });
    const refused = await untrusted.client.sendRequest<AllocatorComparison>(methods.compareAllocators, { file });
    assert.equal(refused.state, 'refused');
    assert.equal(asked.length, 3);
  });

  it('explains a compiled function in documents that say so where the text is not enough', async () => {
    const bytes = { copyBytes: 2 ** 20, argumentBytes: 8 * 2 ** 20, outputBytes: 4 * 2 ** 20, aliasBytes: 2 ** 20, tempBytes: 2 ** 19 };
    const compiled = { values: 4, inPlace: 1, space: 2, copies: 1, ...bytes };
    const stages = { plan: 'the plan\n', schedule: 'the schedule\n', ir: null, trace: null };
    const wired = await start({
      analysis: {
        functions: (_, at) => Promise.resolve([fact(at, 'step', 2, { staticPeakBytes: 12 * 2 ** 20, compiled })]),
        explain: (_, __, { name }) => Promise.resolve({ name, stages, why: 'the shape of `x` is not known' }),
      },
    });
    await wired.open(file, program);
    await wired.findings(file, 1);
    const shown = await lensesOf(wired);
    assert.ok(titles(shown).includes('2: explain: 1 updated in place, 2 reuse space, 1 copy 1.0 MiB'));
    assert.match(
      shown.map(({ command }) => command?.tooltip ?? '').join('\n'),
      /arguments 8\.0 MiB, outputs 4\.0 MiB \(1\.0 MiB in the buffers of donated ones\), temporaries 512\.0 KiB\. Explain it/,
    );
    const target = { file, function: 'step', line: 2 };
    const textOf = async (uri: string): Promise<string> =>
      (await wired.client.sendRequest<{ text: string }>('workspace/textDocumentContent', { uri })).text;
    const plan = await textOf(explainUri(target, 'plan'));
    assert.match(plan, /^step · plan: .*\ntrain\.ts:2:1 · also: schedule · ir · trace\n\nthe plan\n$/);
    assert.match(
      await textOf(explainUri(target, 'trace')),
      /The text alone doesn't say enough: the shape of `x` is not known\.\nProfile it/,
    );
    assert.equal(await textOf('tidemark-explain:/step.plan?nonsense'), '');
  });

  it('says at the hover what was measured on the line', async () => {
    const wired = await start({ measure });
    await wired.open(file, program);
    await profile(wired);
    const hover = await wired.client.sendRequest<Hover>('textDocument/hover', {
      textDocument: { uri: uriOf(file) },
      position: { line: 2, character: 12 },
    });
    const { value } = hover.contents as { value: string };
    assert.match(value, /2 allocations, 8\.0 MiB in all/);
    assert.match(value, /f32\[1024,1024\] array/);
  });

  it('never runs anything in an untrusted workspace', async () => {
    let ran = false;
    const wired = await start({
      trusted: false,
      measure: () => {
        ran = true;
        return measure({} as never, {} as never);
      },
    });
    await wired.open(file, program);
    const refused = await profile(wired);
    assert.equal(refused.state, 'refused');
    assert.match(refused.message ?? '', /not trusted/);
    assert.equal(ran, false);
    await wired.client.sendNotification(methods.trust);
    assert.equal((await profile(wired)).state, 'done');
  });

  it('refuses a second run while one is on, with a word', async () => {
    let finish: (() => void) | undefined;
    const wired = await start({
      measure: () => new Promise((resolve) => (finish = () => resolve({ state: 'done', message: null, report: null, profileFile: null }))),
    });
    await wired.open(file, program);
    const first = profile(wired);
    const second = await profile(wired);
    assert.equal(second.state, 'refused');
    assert.match(second.message ?? '', /being measured already/);
    while (finish === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    (finish as () => void)();
    assert.equal((await first).state, 'done');
  });

  it('hands the cancellation of a run on', async () => {
    const wired = await start({
      measure: (_, token) =>
        new Promise((resolve) => token.onCancel(() => resolve({ state: 'cancelled', message: null, report: null, profileFile: null }))),
    });
    await wired.open(file, program);
    const { CancellationTokenSource } = await import('vscode-languageserver-protocol/node');
    const source = new CancellationTokenSource();
    const run = wired.client.sendRequest<ProfileOutcome>(methods.profile, { file }, source.token);
    setTimeout(() => source.cancel(), 50);
    assert.equal((await run).state, 'cancelled');
  });

  it('runs the entry that the settings name for a file, with its arguments', async () => {
    const seen: { entry: string; args: readonly string[]; cwd: string }[] = [];
    const wired = await start({
      settings: { profile: { entries: { 'train.ts': 'main.ts' }, args: ['--small'] } },
      measure: ({ entry, args, cwd }) => {
        seen.push({ entry, args, cwd });
        return Promise.resolve({ state: 'done', message: null, report: report(), profileFile: null });
      },
    });
    await wired.open(file, program);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await profile(wired);
    assert.deepEqual(seen, [{ entry: path.join(folder, 'main.ts'), args: ['--small'], cwd: folder }]);
  });

  it('says that a function was never reached', async () => {
    const wired = await start({ measure, analysis: { functions: (_, at) => Promise.resolve([fact(at, 'other', 5)]) } });
    await wired.open(file, program);
    await wired.findings(file, 1);
    assert.equal((await profile(wired, { function: 'step' })).notReached, false);
    assert.equal((await profile(wired, { function: 'other' })).notReached, true);
    assert.ok(titles(await lensesOf(wired)).includes('5: not reached: choose what runs'));
  });

  describe('fixes', () => {
    const edit = (line: number, newText: string) => ({ file: '', start: { line, column: 1 }, end: { line, column: 1 }, newText });
    const diagnostics = (at: string) => [
      finding(at, 3, 3, { fixes: [{ title: 'dispose it', safe: true, edits: [{ ...edit(4, 'x.dispose();\n'), file: at }] }] }),
      finding(at, 5, 7, {
        fixes: [
          { title: 'move it', safe: false, edits: [{ ...edit(5, '// moved\n'), file: at }] },
          { title: 'donate it', safe: false, edits: [], disabled: 'a caller is unknown' },
        ],
      }),
    ];
    const actionsAt = async (line: number, only?: string[]): Promise<CodeAction[]> => {
      const wired = server ?? (await start({ analysis: { diagnostics: (_, at) => Promise.resolve(diagnostics(at)) } }));
      await wired.open(file, program);
      return wired.client.sendRequest('textDocument/codeAction', {
        textDocument: { uri: uriOf(file) },
        range: { start: { line, character: 6 }, end: { line, character: 6 } },
        context: { diagnostics: [], ...(only === undefined ? {} : { only }) },
      });
    };

    it('prefers a safe one and edits the version it was made for', async () => {
      const [action, ...rest] = await actionsAt(2);
      assert.equal(rest.length, 0);
      assert.equal(action?.isPreferred, true);
      assert.deepEqual(action?.edit?.documentChanges, [
        {
          textDocument: { uri: uriOf(file), version: 1 },
          edits: [{ range: { start: { line: 3, character: 0 }, end: { line: 3, character: 0 } }, newText: 'x.dispose();\n' }],
        },
      ]);
    });

    it('sends the edit of a fix when it is chosen, to a client that can fetch it, and none for another text', async () => {
      const wired = await start({
        analysis: { diagnostics: (_, at) => Promise.resolve(diagnostics(at)) },
        textDocument: { codeAction: { dataSupport: true, resolveSupport: { properties: ['edit'] } } },
      });
      const [action] = await actionsAt(2);
      assert.equal(action?.edit, undefined);
      const resolved: CodeAction = await wired.client.sendRequest('codeAction/resolve', action!);
      const [change] = (resolved.edit?.documentChanges ?? []) as { edits: { newText: string }[] }[];
      assert.deepEqual(
        change?.edits.map(({ newText }) => newText),
        ['x.dispose();\n'],
      );
      const [all] = await actionsAt(0, ['source.fixAll.tidemark']);
      const together: CodeAction = await wired.client.sendRequest('codeAction/resolve', all!);
      assert.equal(together.edit?.documentChanges?.length, 1);
      await wired.change(file, 2, `\n${program}`);
      await wired.findings(file, 2);
      const late: CodeAction = await wired.client.sendRequest('codeAction/resolve', action!);
      assert.equal(late.edit, undefined);
    });

    it('asks before an unproven one, and gives the reason of a disabled one', async () => {
      const [unproven, disabled] = await actionsAt(4);
      assert.equal(Object.values(unproven?.edit?.changeAnnotations ?? {})[0]?.needsConfirmation, true);
      assert.equal(disabled?.disabled?.reason, 'a caller is unknown');
      assert.equal(disabled?.edit, undefined);
    });

    it('applies the safe ones together, only when asked by name', async () => {
      const [all, ...rest] = await actionsAt(0, ['source.fixAll.tidemark']);
      assert.equal(rest.length, 0);
      assert.equal(all?.kind, 'source.fixAll.tidemark');
      assert.equal((all?.edit?.documentChanges as { edits: unknown[] }[])[0]?.edits.length, 1);
      assert.deepEqual(await actionsAt(0), []);
    });
  });
});
