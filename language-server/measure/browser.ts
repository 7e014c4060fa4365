/**
 * Profiles a page: the person's Chrome with a fresh profile of its own, the instrument injected before the page's scripts.
 *
 * Scripts are seen on their way in, as a loader sees modules in Node: a library hands over what it does not export, and
 * the person's functions are counted. Events come out through a binding and lie in a folder like those of any run. Source
 * maps are asked from where the page's server says. Depends on: browser-path, run, stream, instrument (what is added to
 * modules), chrome-remote-interface, node.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import CDP from 'chrome-remote-interface';
import type { Client } from 'chrome-remote-interface';
import { adding } from '../../runtime/instrument/added.ts';
import { mostFunctions } from '../../runtime/instrument/calls.ts';
import { loadersMap } from '../../runtime/instrument/source-map.ts';
import { browserSwitches, findBrowser } from './browser-path.ts';
import { killGroup } from './child.ts';
import type { Cancellation } from './child.ts';
import { browserScript } from './command.ts';
import { watchLongRun } from './long-run.ts';
import type { RunFacts } from './report.ts';
import { queued, readReport, refused } from './run.ts';
import type { ProfileResult } from './run.ts';
import { nameRun } from './stream.ts';
import { createWorlds, worldName } from './worlds.ts';

export interface PageOptions {
  readonly url: string;
  readonly cwd?: string;
  readonly chrome?: string;
  /** Report after so long; else when the tab closes or the run is cancelled. */
  readonly seconds?: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Events are read while the page runs once they are more than this. */
  readonly partBytes?: number;
  /** Called when the page is about to be opened. */
  readonly started?: () => void;
  /** The page's console, and what the browser says of it. */
  readonly output?: (text: string) => void;
}

const names = { send: '$tidemarkSend', finish: '$tidemarkFinish', start: '$tidemarkStart' } as const;

export const profilePage = (options: PageOptions, token: Cancellation): Promise<ProfileResult> => queued(() => run(options, token));

async function run(options: PageOptions, token: Cancellation): Promise<ProfileResult> {
  const cwd = resolve(options.cwd ?? process.cwd());
  const env = options.env ?? process.env;
  if (!URL.canParse(options.url))
    return refused(`${options.url} is no address of a page\nfix: write it whole, such as http://localhost:5173/`);
  const browser = findBrowser({ chosen: options.chrome, env, platform: process.platform, exists: existsSync });
  if (browser.kind === 'missing') return refused(browser.message);
  const unreachable = await whyUnreachable(options.url);
  if (unreachable !== undefined) return refused(unreachable);

  const events = mkdtempSync(join(tmpdir(), 'tidemark-'));
  mkdirSync(join(events, 'maps'));
  nameRun(events, cwd);
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-browser-'));
  const start = Date.now();
  const setting = {
    env,
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    hasGPU: existsSync('/dev/dri') || process.platform !== 'linux',
    folder,
  };
  const child = spawn(browser.path, [...browserSwitches(setting)], {
    detached: process.platform !== 'win32',
    stdio: 'ignore',
    env: env as NodeJS.ProcessEnv,
  });
  const release = (): void => rmSync(events, { recursive: true, force: true });
  try {
    const port = await debuggingPort(folder, child);
    if (port === undefined)
      return refused(
        `${browser.path} started but gave no way to watch it\nfix: close other instances, or name another browser with \`--chrome PATH\``,
      );
    options.started?.();
    const long = watchLongRun(events, start);
    const ending = await watchTab(port, { events, cwd, start }, options, token);
    const facts: RunFacts = {
      entry: options.url,
      wallMs: Date.now() - start,
      exitCode: ending.state === 'done' ? 0 : null,
      notes: ending.message === null ? [] : [ending.message],
    };
    await long.stop();
    const report = long.report(facts) ?? (await readReport(events, facts));
    return { ...ending, report, events, release };
  } finally {
    killGroup(child);
    await removed(folder);
  }
}

/** The page's server is asked first: a browser would show its own page for an error, and that would be profiled. */
async function whyUnreachable(url: string): Promise<string | undefined> {
  if (!/^https?:/.test(url)) return undefined;
  try {
    await fetch(url, { signal: AbortSignal.timeout(10_000) });
    return undefined;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return `nothing answers at ${url} (${cause})\nfix: start its server first, or correct the address`;
  }
}

async function debuggingPort(folder: string, child: { readonly exitCode: number | null }): Promise<number | undefined> {
  const file = join(folder, 'DevToolsActivePort');
  for (let waited = 0; waited < 30_000 && child.exitCode === null; waited += 50) {
    if (existsSync(file)) {
      const port = Number(readFileSync(file, 'utf8').split('\n')[0]);
      if (port > 0) return port;
    }
    await pause(50);
  }
  return undefined;
}

/** A browser goes on writing for a moment after it was told to end. */
async function removed(folder: string): Promise<void> {
  for (let i = 0; i < 20; i += 1) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch {
      await pause(100);
    }
  }
}

type Ending = Pick<ProfileResult, 'state' | 'message'>;

interface Place {
  readonly events: string;
  readonly cwd: string;
  readonly start: number;
}

async function watchTab(
  port: number,
  { events, cwd, start }: Place,
  { url, seconds, output, partBytes }: PageOptions,
  token: Cancellation,
): Promise<Ending> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as readonly { id: string; type: string }[];
  const tab = targets.find(({ type }) => type === 'page');
  if (tab === undefined) return { state: 'failed', message: 'the browser opened no tab' };
  const client = await CDP({ host: '127.0.0.1', port, target: tab.id, local: true });
  const scripts = createScripts(client, events, cwd);
  const worlds = createWorlds(events, partBytes);
  // Clocks of documents and workers begin when these do; all are set to the start of the run.
  const instrument = `globalThis.${names.start}=${start};${readFileSync(browserScript(), 'utf8')}`;
  const workers = new Set<string>();
  client.on('event', ({ method, params, sessionId }) => {
    if (method === 'Runtime.bindingCalled' && params['name'] === names.send)
      worlds.write(worldName(sessionId, params['executionContextId']), String(params['payload']));
    if (method === 'Runtime.executionContextDestroyed') worlds.end(worldName(sessionId, params['executionContextId']));
    if (method === 'Runtime.executionContextsCleared') worlds.endAll(worldName(sessionId, ''));
    if (method === 'Debugger.scriptParsed') scripts.parsed(String(params['url']), String(params['sourceMapURL'] ?? ''));
    if (method === 'Fetch.requestPaused') void scripts.passOn(params);
    if (method === 'Runtime.consoleAPICalled') output?.(consoleText(params));
    if (method === 'Runtime.exceptionThrown') output?.(exceptionText(params));
    if (method === 'Target.attachedToTarget') {
      const worker = String(params['sessionId']);
      workers.add(worker);
      void watchWorker(client, worker, instrument);
    }
    if (method === 'Target.detachedFromTarget') {
      workers.delete(String(params['sessionId']));
      worlds.endAll(worldName(String(params['sessionId']), ''));
    }
  });
  const closed = new Promise<Ending>((settle) => {
    client.on('disconnect', () => settle({ state: 'done', message: null }));
    client.on('event', ({ method }) => {
      if (method === 'Inspector.targetCrashed')
        settle({ state: 'failed', message: 'the tab crashed; the profile reaches up to that point' });
    });
  });
  for (const domain of ['Page', 'Runtime', 'Debugger', 'Inspector']) await client.send(`${domain}.enable`);
  await client.send('Debugger.setSkipAllPauses', { skip: true });
  await client.send('Runtime.addBinding', { name: names.send });
  await client.send('Page.addScriptToEvaluateOnNewDocument', { source: instrument });
  // The scripts of workers, and what those import, are to the browser something other.
  const patterns = ['Script', 'Other'].map((resourceType) => ({ resourceType, requestStage: 'Response' }));
  await client.send('Fetch.enable', { patterns });
  await client.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
  await client.send('Page.navigate', { url });
  const cancelled = new Promise<Ending>((settle) => token.onCancellationRequested(() => settle({ state: 'done', message: null })));
  const elapsed = seconds === undefined ? [] : [pause(seconds * 1000).then((): Ending => ({ state: 'done', message: null }))];
  const ending = await Promise.race([closed, cancelled, ...elapsed]);
  await Promise.all([undefined, ...workers].map((session) => finish(client, session)));
  await scripts.keepMaps();
  await client.close().catch(() => undefined);
  return ending;
}

/**
 * A worker stops before its first line until the instrument is in it. It stops there and not at its very start, where
 * Chromium crashes when the instrument looks around.
 */
async function watchWorker(client: Client, session: string, instrument: string): Promise<void> {
  const send = (method: string, params: object = {}): Promise<Record<string, unknown>> =>
    client.send(method, params, session).catch(() => ({}));
  await send('Runtime.enable');
  await send('Debugger.enable');
  await send('Runtime.addBinding', { name: names.send });
  const { breakpointId } = await send('Debugger.setInstrumentationBreakpoint', { instrumentation: 'beforeScriptExecution' });
  const stopped = new Promise<void>((settle) => {
    client.on('event', ({ method, sessionId }) => {
      if (method === 'Debugger.paused' && sessionId === session) settle();
    });
  });
  await send('Runtime.runIfWaitingForDebugger');
  await stopped;
  await send('Debugger.removeBreakpoint', { breakpointId });
  await send('Runtime.evaluate', { expression: instrument });
  await send('Debugger.resume');
}

/** A forced collection, then the last word of the page or of a worker; one that is gone, or hangs, has said what it could. */
async function finish(client: Client, session: string | undefined): Promise<void> {
  const words = async (): Promise<void> => {
    await client.send('HeapProfiler.enable', {}, session);
    await client.send('HeapProfiler.collectGarbage', {}, session);
    await client.send('Runtime.evaluate', { expression: `globalThis[${JSON.stringify(names.finish)}]?.()` }, session);
    await pause(50);
  };
  await Promise.race([words().catch(() => undefined), pause(lastWordsMs)]);
}

const lastWordsMs = 5000;

interface Header {
  readonly name: string;
  readonly value: string;
}

interface Scripts {
  parsed(url: string, sourceMapUrl: string): void;
  /** Lets a script through, with what is added to it. */
  passOn(request: Record<string, unknown>): Promise<void>;
  keepMaps(): Promise<void>;
}

function createScripts(client: Client, events: string, cwd: string): Scripts {
  const maps = new Map<string, Promise<void>>();
  const additions = adding(0, mostFunctions);
  const changed = (source: string, url: string): string | undefined =>
    additions.changed(source, url, /\/node_modules\/|\/@vite\/|\/@id\/|\/@react-refresh/.test(url) ? 'package' : 'user');

  return {
    parsed(url, sourceMapUrl) {
      if (/^https?:/.test(url))
        maps.set(
          url,
          keepMap(url, sourceMapUrl, events, cwd).catch(() => undefined),
        );
    },
    async passOn({ requestId, request, resourceType, responseHeaders, responseStatusCode }) {
      try {
        const { url } = request as { url: string };
        const isScript = ({ name, value }: Header): boolean => /^content-type$/i.test(name) && /(java|ecma)script/i.test(value);
        if (resourceType !== 'Script' && !((responseHeaders ?? []) as readonly Header[]).some(isScript))
          return void (await client.send('Fetch.continueRequest', { requestId }));
        const { body, base64Encoded } = (await client.send('Fetch.getResponseBody', { requestId })) as {
          body: string;
          base64Encoded: boolean;
        };
        const source = base64Encoded ? Buffer.from(body, 'base64').toString('utf8') : body;
        const text = responseStatusCode === 200 ? changed(source, url) : undefined;
        if (text === undefined) return void (await client.send('Fetch.continueRequest', { requestId }));
        const headers = (responseHeaders as readonly Header[]).filter(({ name }) => !/^content-(length|encoding)$/i.test(name));
        await client.send('Fetch.fulfillRequest', {
          requestId,
          responseCode: 200,
          responseHeaders: headers,
          body: Buffer.from(text).toString('base64'),
        });
      } catch {
        await client.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
      }
    },
    keepMaps: async () => void (await Promise.all(maps.values())),
  };
}

/** Beside the events, as soon as the script is there: a long run is read while it goes on. */
async function keepMap(url: string, address: string, events: string, cwd: string): Promise<void> {
  const map = await readMap(url, address);
  const kept =
    map === undefined
      ? identity(url, cwd)
      : { file: url, map: localMap(map, address.startsWith('data:') ? url : new URL(address, url), cwd) };
  if (kept !== undefined) writeFileSync(join(events, 'maps', `${createHash('sha1').update(url).digest('hex')}.json`), JSON.stringify(kept));
}

/** The map with its sources where they lie in the folder that is worked in. */
function localMap(map: Record<string, unknown>, base: URL | string, cwd: string): Record<string, unknown> {
  const sources = map['sources'] as readonly (string | null)[];
  const root = String(map['sourceRoot'] ?? '');
  return {
    ...map,
    sourceRoot: '',
    sources: sources.map((source) => (source === null ? null : localAddress(new URL(root + source, base).href, cwd))),
  };
}

async function readMap(url: string, address: string): Promise<Record<string, unknown> | undefined> {
  if (address === '') return undefined;
  try {
    const response = await fetch(new URL(address, url), { signal: AbortSignal.timeout(5000) });
    const map: unknown = await response.json();
    return typeof map === 'object' && map !== null && 'sources' in map ? loadersMap(map as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A file that is served as it is: only its name changes. */
const identity = (url: string, cwd: string): { file: string; local: string } | undefined => {
  const local = localAddress(url, cwd);
  return local === url ? undefined : { file: url, local };
};

/** Where a served file lies in the folder that is worked in: below it, below `public`, or by the server's own sign for a path. */
function localAddress(url: string, cwd: string): string {
  if (!/^https?:/.test(url)) return url;
  const path = decodeURIComponent(new URL(url).pathname);
  const candidates = path.startsWith('/@fs/')
    ? [path.slice('/@fs'.length)]
    : [join(cwd, path), join(cwd, 'public', path), ...folders(cwd).map((folder) => join(cwd, folder, path))];
  const found = candidates.find(existsSync);
  return found === undefined ? url : pathToFileURL(found).href;
}

/** A server's root is often one folder down. */
const folders = (cwd: string): readonly string[] =>
  readdirSync(cwd, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
    .map(({ name }) => name);

function consoleText({ type, args }: Record<string, unknown>): string {
  const parts = (args as readonly { value?: unknown; description?: string }[]).map((arg) =>
    arg.value === undefined ? (arg.description ?? '') : String(arg.value),
  );
  return `${String(type)}: ${parts.join(' ')}\n`;
}

function exceptionText({ exceptionDetails }: Record<string, unknown>): string {
  const details = exceptionDetails as { text: string; exception?: { description?: string } };
  return `error: ${details.exception?.description ?? details.text}\n`;
}
