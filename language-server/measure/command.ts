/**
 * The command line and the environment that start a program under the instrument.
 *
 * An entry gets the loader for TypeScript and the instrument as arguments of its own Node; a command gets them by
 * NODE_OPTIONS, since it may be a script that starts Node somewhere below. Depends on: node.
 */
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface CommandOptions {
  readonly entry: string | undefined;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly node: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly device?: 'webgpu' | 'cpu';
  readonly events: string;
  /** Milliseconds of the epoch at which the run's clock is zero. */
  readonly start: number;
}

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function childCommand({ entry, command, args, node, env, device, events, start }: CommandOptions): ChildCommand {
  const environment = {
    ...env,
    ...loaderEnvironment(env),
    TIDEMARK_EVENTS: events,
    TIDEMARK_START: String(start),
    ...(device === undefined ? {} : { TIDEMARK_DEVICE: device }),
  };
  if (entry !== undefined) {
    const imports = [...(needsLoader(entry) ? [loader(dirname(entry))] : []), ...instrument()].flatMap((url) => ['--import', url]);
    return { command: node, args: [...imports, entry, ...(args ?? [])], environment: { ...environment, TIDEMARK_ENTRY: entry } };
  }
  const [program, ...rest] = command ?? [];
  const options = [env['NODE_OPTIONS'], ...instrument().map((url) => `--import=${url}`)].filter(
    (option) => option !== undefined && option !== '',
  );
  const path = [dirname(node), env['PATH']].join(process.platform === 'win32' ? ';' : ':');
  return { command: program ?? node, args: rest, environment: { ...environment, NODE_OPTIONS: options.join(' '), PATH: path } };
}

/** Plain JavaScript starts faster without a loader. */
const needsLoader = (entry: string): boolean => !/\.[cm]?js$/.test(entry);

const root = packageRoot();

/**
 * The instrument as built. From the sources it is bundled into the cache first: threads of the program load it too, and
 * those have no loader for TypeScript.
 */
function instrument(): readonly string[] {
  const source = join(root, 'runtime', 'instrument', 'register.ts');
  const built = join(root, 'dist', 'runtime', 'register.js');
  return [pathToFileURL(fromSources(source) ? bundled(source, 'register.js', { keepNames: true }) : built).href];
}

const fromSources = (source: string): boolean => import.meta.url.endsWith('.ts') && existsSync(source);

/** A bundle of `source` in the cache. */
function bundled(source: string, name: string, options: object): string {
  const bundle = join(root, '.cache', 'instrument', name);
  const esbuild = createRequire(import.meta.url)('esbuild') as { buildSync(options: object): unknown };
  esbuild.buildSync({
    entryPoints: [source],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    ...options,
  });
  return bundle;
}

/** What is injected into a page, as built; from the sources it is bundled first. */
export function browserScript(): string {
  const source = join(root, 'runtime', 'instrument', 'browser.ts');
  if (!import.meta.url.endsWith('.ts') || !existsSync(source)) return join(root, 'dist', 'runtime', 'browser.js');
  const bundle = join(root, '.cache', 'instrument', 'browser.js');
  const esbuild = createRequire(import.meta.url)('esbuild') as { buildSync(options: object): unknown };
  esbuild.buildSync({
    entryPoints: [source],
    outfile: bundle,
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    keepNames: true,
    logLevel: 'silent',
  });
  return bundle;
}

/** `tsx`, ours or the program's own, where it can run; else the loader that needs no native part. */
function loader(folder: string): string {
  const path = [import.meta.url, pathToFileURL(join(folder, 'x.js')).href].map(workingTsx).find((one) => one !== undefined);
  return pathToFileURL(path ?? typescriptLoader()).href;
}

/** Where `tsx` lies, seen from a module, when its compiler for this platform lies there too. */
function workingTsx(from: string): string | undefined {
  try {
    const path = createRequire(from).resolve('tsx');
    const compiler = createRequire(path).resolve('esbuild');
    createRequire(compiler).resolve(`@esbuild/${process.platform}-${process.arch}/package.json`);
    return path;
  } catch {
    return undefined;
  }
}

/** The loader as built; from the sources it is bundled first, since it runs where nothing loads TypeScript yet. */
export function typescriptLoader(): string {
  const source = join(root, 'language-server', 'measure', 'typescript-loader.ts');
  const built = join(root, 'dist', 'typescript-loader.js');
  return fromSources(source) ? bundled(source, 'typescript-loader.js', { external: ['typescript'] }) : built;
}

/**
 * A machine without a Vulkan loader finds the one that we ship only through the environment a process starts with.
 * One that has a loader keeps its own.
 */
function loaderEnvironment(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const shipped = join(root, 'dist', 'swiftshader', `${process.platform}-${process.arch}`);
  if (process.platform !== 'linux' || !existsSync(join(shipped, 'libvulkan.so.1')) || hasVulkanLoader()) return {};
  const before = env['LD_LIBRARY_PATH'];
  return { LD_LIBRARY_PATH: before === undefined || before === '' ? shipped : `${before}:${shipped}` };
}

const libraryFolders = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/lib/x86_64-linux-gnu',
  '/lib64',
  '/usr/local/lib',
];

function hasVulkanLoader(): boolean {
  return libraryFolders.some((folder) => {
    try {
      return readdirSync(folder).some((name) => name.startsWith('libvulkan.so.1'));
    } catch {
      return false;
    }
  });
}

/** The folder of this package, from the sources as from the bundle in `dist`. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const up = dirname(folder);
    if (up === folder) return folder;
    folder = up;
  }
  return folder;
}
