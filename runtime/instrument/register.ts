/**
 * What `node --import tidemark/register app.ts` loads: gives the program a GPU when it has none, and records what it does to memory.
 *
 * With `TIDEMARK_EVENTS` naming a folder, every thread writes its events to a file of its own there, so that a kill
 * loses next to nothing; source maps of files that a loader translated lie beside them. Without it the program is a run
 * of its own, which leaves a profile. The module is also its own loader hook (loaded with `?hooks`). Nothing of the program's folders is written to.
 * Depends on: events, the other modules here, node.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread, threadId } from 'node:worker_threads';
import { sinkKey } from '../events/event.ts';
import type { Event, Sink } from '../events/event.ts';
import { adding } from './added.ts';
import { findGPU, install, softwareDriver, softwareEnvironment } from './gpu.ts';
import type { Machine } from './gpu.ts';
import { watchJaxJs } from './jax-js.ts';
import { mostFunctions } from './calls.ts';
import { share, watchContexts } from './contexts.ts';
import { createRecorder } from './recorder.ts';
import type { Context, Recorder } from './recorder.ts';
import { watchEvaluated } from './evaluated.ts';
import type { EvaluatedMaps } from './evaluated.ts';
import { startOwnRun } from './own-run.ts';
import { appendInParts, partBytes } from './parts.ts';
import { loadersMap } from './source-map.ts';
import { packageOf } from './stack.ts';
import type { Owner, Stack } from './stack.ts';
import { watchTfjs } from './tfjs.ts';
import { loadVulkan } from './vulkan.ts';
import { watchWebGPU } from './webgpu.ts';
import { createWriter } from './writer.ts';

const here = fileURLToPath(import.meta.url.replace(/\?.*$/, ''));
/** The package's own folder: two above, whether this runs from `runtime/instrument`, from `dist/runtime` or from a cache beside them. */
const packageRoot = dirname(dirname(dirname(here)));
const ours = [join(packageRoot, 'runtime'), join(packageRoot, 'dist')].map((folder) => folder + '/');
const isHook = new URL(import.meta.url).searchParams.has('hooks');
const newestHookKey = Symbol.for('tidemark.hooks');

async function start(): Promise<void> {
  try {
    const own = process.env['TIDEMARK_EVENTS'] === undefined && isMainThread ? startOwnRun(packageRoot) : undefined;
    const folder = process.env['TIDEMARK_EVENTS'];
    if (own !== undefined) await loadTypeScript();
    const recorder = folder === undefined ? undefined : record(folder, own?.finish);
    await giveGPU(recorder, own !== undefined || folder === undefined);
  } catch (error) {
    // The program is the person's; it runs whether or not it can be watched.
    process.stderr.write(`tidemark: the program runs without being measured: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}

/** An older Node reads TypeScript only by a loader: ours, unless the person named one. */
async function loadTypeScript(): Promise<void> {
  const { typescript } = process.features as { readonly typescript?: unknown };
  const named = [...process.execArgv, process.env['NODE_OPTIONS'] ?? '']
    .join(' ')
    .match(/--(?:import|loader|experimental-loader|require)\b/g);
  const loader = join(packageRoot, 'dist', 'typescript-loader.js');
  if (typescript || (named?.length ?? 0) > 1 || !/\.[cm]?tsx?$/.test(process.argv[1] ?? '') || !existsSync(loader)) return;
  await import(pathToFileURL(loader).href);
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

function record(folder: string, ended: (exitCode: number) => void = () => undefined): Recorder {
  mkdirSync(join(folder, 'maps'), { recursive: true });
  const { append } = appendInParts(folder, `${process.pid}-${threadId}`, Number(process.env['TIDEMARK_PART_BYTES'] ?? partBytes));
  const began = Number(process.env['TIDEMARK_START'] ?? performance.timeOrigin);
  const shift = performance.timeOrigin - began;
  const now = (): number => Math.round((performance.now() + shift) * 1000) / 1000;
  const writer = createWriter(append, now);
  const evaluated = watchEvaluated();
  const recorder = createRecorder({
    emit: (event) => writer.write(event),
    now,
    owner: (path) => ownerOf(path, (user) => keepSourceMap(folder, user, evaluated)),
    context: asyncContext(),
    target: globalThis,
  });

  const entry = process.argv[1];
  recorder.emit({ kind: 'start', at: now(), version: 1, pid: process.pid, cwd: process.cwd(), ...(entry === undefined ? {} : { entry }) });
  const sink: Sink = (event) => recorder.relay(shifted(event, shift));
  Object.defineProperty(globalThis, sinkKey, { value: sink, configurable: true, writable: true });

  watchTfjs(recorder, globalThis);
  const flushSlots = watchJaxJs(recorder, globalThis);
  // Test runners give each file a global object of its own.
  watchContexts((context) => {
    watchTfjs(recorder, context);
    share(context);
  });
  hookLoaders();

  const flush = (): void => {
    recorder.settle();
    flushSlots();
    recorder.calls.flush();
    writer.flush();
  };
  setInterval(flush, flushEveryMs).unref();
  atExit(recorder, flush, ended);
  return recorder;
}

/** Made when it is first needed: a program pays for it with every promise. */
function asyncContext(): Context {
  let storage: AsyncLocalStorage<Stack> | undefined;
  return {
    get: () => storage?.getStore(),
    set(stack) {
      storage ??= new AsyncLocalStorage();
      storage.enterWith(stack);
    },
  };
}

const flushEveryMs = 100;

/** Events of the runtime count from the thread's start, ours from the start of the run. */
const shifted = (event: Event, shift: number): Event =>
  event.kind === 'place' || shift === 0 ? event : { ...event, at: event.at + shift };

function ownerOf(file: string, seeUser: (file: string) => void): Owner {
  if (file.startsWith('node:') || file.startsWith('internal/') || file.startsWith('evalmachine.')) return { kind: 'hidden' };
  const path = pathOf(file);
  if (path === here) return { kind: 'hidden' };
  const name = ours.some((folder) => path.startsWith(folder)) || isLinkedRuntime(path) ? 'tidemark' : packageOf(path);
  if (name !== undefined) return { kind: 'library', name };
  seeUser(file);
  return { kind: 'user' };
}

/** A copy of the runtime that is linked into the project, as in a workspace: its path has no `node_modules` in it. */
function isLinkedRuntime(path: string): boolean {
  const folder = /^(.*[/\\])dist[/\\]runtime[/\\][^/\\]+$/.exec(path)?.[1];
  if (folder === undefined) return false;
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return typeof manifest === 'object' && manifest !== null && 'name' in manifest && manifest.name === 'tidemark';
  } catch {
    return false;
  }
}

const pathOf = (file: string): string => {
  const bare = file.replace(/\?.*$/, '');
  try {
    return bare.startsWith('file:') ? fileURLToPath(bare) : bare;
  } catch {
    return bare;
  }
};

/** What a loader made of a file is nowhere on disk, so its source map is kept beside the events. */
function keepSourceMap(folder: string, file: string, evaluated: EvaluatedMaps): void {
  const map = evaluated(file) ?? (module.findSourceMap(file) ?? module.findSourceMap(pathOf(file)))?.payload;
  if (map === undefined) return;
  const name = createHash('sha1').update(file).digest('hex');
  writeFileSync(join(folder, 'maps', `${name}.json`), JSON.stringify({ file, map: loadersMap(map) }));
}

function atExit(recorder: Recorder, flush: () => void, ended: (exitCode: number) => void): void {
  let over = false;
  const finish = (): void => {
    if (over) return;
    over = true;
    flush();
    recorder.exit(collector());
    flush();
  };
  process.on('beforeExit', () => {
    if (mayStartMain(recorder)) return void startMain();
    if (over) return;
    // What is held weakly from now on can be told from the collected in the next turn only.
    recorder.settle();
    setImmediate(() => {
      finish();
      // Libraries hear of what was collected in a later turn; two turns are kept for them.
      setImmediate(() => setImmediate(flush));
    });
  });
  process.on('exit', (code) => {
    finish();
    recorder.emit({ kind: 'end', at: recorder.now(), exitCode: code });
    flush();
    ended(code);
  });
}

let mainStarted = false;

/** A file that only defines things is meant to be run by its `main`: nobody called it, and nothing was allocated. */
function mayStartMain(recorder: Recorder): boolean {
  const entry = process.env['TIDEMARK_ENTRY'];
  if (mainStarted || entry === undefined || !isMainThread || recorder.busy || process.argv[1] !== entry) return false;
  const real = realpathSync(entry);
  return [real, pathToFileURL(real).href].some((file) => recorder.calls.callsOf(file, 'main') === 0);
}

/** The module is loaded already; this only asks for what it exports. */
async function startMain(): Promise<void> {
  mainStarted = true;
  const exported: unknown = await import(pathToFileURL(process.argv[1]!).href);
  const main =
    mainOf(exported) ?? (typeof exported === 'object' && exported !== null && 'default' in exported ? mainOf(exported.default) : undefined);
  await main?.();
}

function mainOf(exported: unknown): (() => unknown) | undefined {
  if (typeof exported !== 'object' || exported === null || !('main' in exported)) return undefined;
  const { main } = exported;
  return typeof main === 'function' ? () => main.call(exported) as unknown : undefined;
}

/** A forced collection, without asking the person for a flag. */
function collector(): (() => void) | undefined {
  try {
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('gc');
    return typeof collect === 'function' ? () => void collect() : undefined;
  } catch {
    return undefined;
  }
}

/* ---- Loader hooks ------------------------------------------------------------------------------------------------ */

type NextLoad = (url: string, context: unknown) => Promise<Loaded>;
interface Loaded {
  readonly format?: string;
  readonly source?: string | ArrayBuffer | Uint8Array | null;
  readonly shortCircuit?: boolean;
}

/** Node's own hook: adds our lines to modules while they are loaded, to a library's and to the person's own. */
export async function load(url: string, context: unknown, nextLoad: NextLoad): Promise<Loaded> {
  const loaded = await nextLoad(url, context);
  return hookNumber === newestHook() ? withAdditions(loaded, url) : loaded;
}

function withAdditions(loaded: Loaded, url: string): Loaded {
  if (loaded.format === 'module-typescript') return withChange(loaded, (source) => changedTypes(source, url), 'module');
  // CommonJS comes with its text only where a loader of the program made it; all else is met when it is compiled.
  if (loaded.format !== 'module' && loaded.format !== 'commonjs') return loaded;
  const file = loaded.format === 'module' ? url : pathOf(url);
  return withChange(loaded, (source) => (isUntranslated(source, url) ? undefined : changed(source, file)));
}

/** TypeScript that Node itself runs: without its types it is JavaScript at the same places. */
function changedTypes(source: string, url: string): string | undefined {
  const { stripTypeScriptTypes: strip } = module as { readonly stripTypeScriptTypes?: (source: string) => string };
  // That this is an experiment of Node's is no news for the person whose program it is.
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return strip === undefined ? undefined : changed(strip(source), url);
  } catch {
    // What cannot be stripped is Node's to refuse.
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Hooks are put before the program's own loaders each time that one is registered; only the outermost of ours works. */
const hookNumber = Number(new URL(import.meta.url).searchParams.get('hooks') ?? 0);
const hooks = globalThis as { [newestHookKey]?: number };
const newestHook = (): number => hooks[newestHookKey] ?? 0;
if (isHook) hooks[newestHookKey] = Math.max(newestHook(), hookNumber);

/** TypeScript as it lies on disk: a loader that cannot be got before will translate it, and positions would be put back twice. */
function isUntranslated(source: string, url: string): boolean {
  if (!url.startsWith('file:') || !/\.[cm]?tsx?$/.test(url.replace(/[?#].*$/, ''))) return false;
  try {
    return readFileSync(fileURLToPath(url.replace(/[?#].*$/, '')), 'utf8') === source;
  } catch {
    return false;
  }
}

/** Modules that are loaded off the main thread have the lower half of the counters; those of CommonJS, on it, the upper. */
const additions = isHook ? adding(0, mostFunctions / 2) : adding(mostFunctions / 2, mostFunctions);

function changed(source: string, file: string): string | undefined {
  const path = pathOf(file).replaceAll('\\', '/');
  if (path.includes('/node_modules/'))
    return path.includes('/node_modules/@jax-js/') ? additions.changed(source, file, 'package') : undefined;
  if (path === here || ours.some((folder) => path.startsWith(folder)) || !/^(file:|\/|[a-z]:)/i.test(file)) return undefined;
  return additions.changed(source, file, 'user');
}

function withChange(loaded: Loaded, change: (source: string) => string | undefined, format = loaded.format): Loaded {
  if (loaded.source === null || loaded.source === undefined) return loaded;
  const source = typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString('utf8');
  const result = change(source);
  return result === undefined ? loaded : { ...loaded, ...(format === undefined ? {} : { format }), source: result };
}

interface CompilingModule {
  _compile(this: object, content: string, filename: string, ...rest: unknown[]): unknown;
}

type LoadHook = (url: string, context: unknown, nextLoad: (url: string, context: unknown) => Loaded) => Loaded;

interface HookingModule {
  readonly prototype: CompilingModule;
  register(...args: readonly unknown[]): void;
  /** Of newer Nodes: hooks on the program's own thread, which stand before those that `register` takes. */
  registerHooks?(hooks: { readonly load?: LoadHook }): { deregister(): void };
}

/** Ours come before the program's own loaders, so that what these translate is what is added to. */
function hookLoaders(): void {
  const loaders = module as unknown as HookingModule;
  const { register, registerHooks, prototype } = loaders;
  if (registerHooks !== undefined) {
    const own = { load: ((url, context, nextLoad) => withAdditions(nextLoad(url, context), url)) satisfies LoadHook };
    let registered = registerHooks(own);
    loaders.registerHooks = function tidemarkRegisterHooks(hooks) {
      const result = registerHooks(hooks);
      registered.deregister();
      registered = registerHooks(own);
      return result;
    };
  } else {
    let count = 0;
    const registerOurs = (): void => {
      const url = new URL(import.meta.url);
      url.searchParams.set('hooks', String((count += 1)));
      register(url.href);
    };
    registerOurs();
    loaders.register = function tidemarkRegister(...args) {
      register(...args);
      registerOurs();
    };
  }
  module.syncBuiltinESMExports();

  const { _compile: compile } = prototype;
  prototype._compile = function tidemarkCompile(content, filename, ...rest) {
    return compile.call(this, changed(content, filename) ?? content, filename, ...rest);
  };
}

/* ---- The GPU ----------------------------------------------------------------------------------------------------- */

const arrayLibraries = (name: string): boolean => name === 'tidemark' || name === '@jax-js/jax' || name.startsWith('@tensorflow/');

async function giveGPU(recorder: Recorder | undefined, own: boolean): Promise<void> {
  const machine = thisMachine();
  const shipped = join(packageRoot, 'dist');
  if (own) loadVulkan(shipped);
  const driver = softwareDriver(machine, shipped);
  if (driver !== undefined) Object.assign(process.env, softwareEnvironment(machine, driver));
  const entry = process.argv[1];
  const found = await findGPU(machine, [...(entry === undefined ? [] : [dirname(entry)]), process.cwd(), packageRoot], shipped);
  if (!('create' in found)) return;
  install(globalThis, found, found.create([]), `Node.js/${process.versions.node.split('.')[0]!}`);
  if (recorder !== undefined) watchWebGPU(recorder, found.globals, { arrayLibraries, passThrough: (name) => name === 'webgpu' });
}

function thisMachine(): Machine {
  return {
    platform: process.platform,
    arch: process.arch,
    env: process.env,
    exists: existsSync,
    list(path) {
      try {
        return readdirSync(path);
      } catch {
        return [];
      }
    },
    resolve(name, from) {
      try {
        return createRequire(join(from, 'x.js')).resolve(name);
      } catch {
        return undefined;
      }
    },
    load: async (path) => (path.endsWith('.node') ? createRequire(path)(path) : await import(pathToFileURL(path).href)),
  };
}

if (!isHook) await start();
