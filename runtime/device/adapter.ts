/**
 * Finds a WebGPU adapter: the platform's, npm `webgpu`'s, or software Vulkan's.
 *
 * In a browser, or where the instrument has set it, `navigator.gpu`. In Node the `webgpu` package. When that finds no
 * adapter on Linux, the SwiftShader that lies beside this package (or Debian's) is named as the Vulkan driver; where the
 * machine has no Vulkan loader either, Dawn looks for one beside its own binary, so binary and loader are put side by
 * side in a folder of their own. The object that makes adapters is pinned: the process dies when it is collected.
 * Depends on: core, `webgpu`.
 */
import { noDevice } from '../core/errors.ts';

export interface Found {
  readonly adapter: GPUAdapter;
  readonly gpu: GPU;
  readonly name: string;
  readonly software: boolean;
}

interface Package {
  readonly create: (options: readonly string[]) => GPU;
  readonly globals: Readonly<Record<string, unknown>>;
}

const pin = Symbol.for('tidemark.gpu.pinned');

/** What of Node this needs, asked for at run time so that browsers never see it. */
interface Node {
  readonly fs: typeof import('node:fs');
  readonly path: typeof import('node:path');
  readonly os: typeof import('node:os');
  readonly module: typeof import('node:module');
  readonly url: typeof import('node:url');
}

function node(): Node | undefined {
  const load = globalThis.process?.getBuiltinModule;
  if (load === undefined || globalThis.process.versions?.node === undefined) return undefined;
  return { fs: load('node:fs'), path: load('node:path'), os: load('node:os'), module: load('node:module'), url: load('node:url') };
}

export async function findAdapter(): Promise<Found> {
  const tried: string[] = [];
  const given = await fromPlatform(tried);
  if (given !== undefined) return given;
  const system = node();
  if (system !== undefined) {
    const dawn = dawnPath(system);
    if (dawn === undefined) tried.push('the package `webgpu` is not installed');
    else {
      const found = (await fromDawn(dawn, tried, system)) ?? (await fromSoftware(dawn, tried, system));
      if (found !== undefined) return found;
    }
  }
  throw noDevice(tried);
}

async function fromPlatform(tried: string[]): Promise<Found | undefined> {
  const gpu = globalThis.navigator?.gpu;
  if (gpu === undefined) {
    tried.push('there is no `navigator.gpu`');
    return undefined;
  }
  return described(gpu, await gpu.requestAdapter({ powerPreference: 'high-performance' }), tried, '`navigator.gpu`');
}

function described(gpu: GPU, adapter: GPUAdapter | null, tried: string[], from: string): Found | undefined {
  if (adapter === null) {
    tried.push(`${from} has no adapter`);
    return undefined;
  }
  const { vendor, architecture, device, description } = adapter.info;
  const text = [description || device, vendor, architecture].filter((part) => part !== '').join(', ');
  const software = adapter.info.isFallbackAdapter || /swiftshader|llvmpipe|lavapipe/i.test(text);
  return {
    adapter,
    gpu,
    software,
    name: software ? `${text || 'software adapter'} (software: no GPU was used)` : text || 'WebGPU adapter',
  };
}

function dawnPath({ module, path, fs, url }: Node): string | undefined {
  const places = [url.pathToFileURL(path.join(process.cwd(), 'x.js')).href, import.meta.url];
  for (const place of places) {
    try {
      const entry = module.createRequire(place).resolve('webgpu');
      const platform = process.platform === 'darwin' ? 'darwin-universal' : `${process.platform}-${process.arch}`;
      const file = path.join(path.dirname(entry), 'dist', platform, 'dawn.node');
      if (fs.existsSync(file)) return file;
    } catch {
      // Not there: the next place may have it.
    }
  }
  return undefined;
}

function load(file: string, { module }: Node): GPU {
  const loaded = module.createRequire(import.meta.url)(file) as Package;
  for (const [name, value] of Object.entries(loaded.globals))
    if (!(name in globalThis)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  const gpu = loaded.create([]);
  const holder = globalThis as { [pin]?: GPU[] };
  holder[pin] = [...(holder[pin] ?? []), gpu];
  return gpu;
}

const hasLoader = ({ fs }: Node): boolean =>
  ['/usr/lib', '/usr/lib64', '/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/local/lib', '/lib/x86_64-linux-gnu'].some(
    (folder) => fs.existsSync(`${folder}/libvulkan.so.1`),
  );

async function fromDawn(dawn: string, tried: string[], system: Node): Promise<Found | undefined> {
  // Without a loader Dawn would look for one beside itself and remember that there was none.
  const elsewhere = (process.env['LD_LIBRARY_PATH'] ?? '')
    .split(':')
    .some((folder) => folder !== '' && system.fs.existsSync(`${folder}/libvulkan.so.1`));
  if (
    process.platform === 'linux' &&
    !hasLoader(system) &&
    !elsewhere &&
    !system.fs.existsSync(system.path.join(system.path.dirname(dawn), 'libvulkan.so.1'))
  ) {
    tried.push('the machine has no Vulkan loader (libvulkan.so.1)');
    return undefined;
  }
  const gpu = load(dawn, system);
  return described(gpu, await gpu.requestAdapter({ powerPreference: 'high-performance' }), tried, 'the package `webgpu`');
}

/** Folders that may hold SwiftShader, the one of this package first. */
function softwareFolders({ path, url }: Node): readonly string[] {
  const here = path.dirname(url.fileURLToPath(import.meta.url));
  const kind = `${process.platform}-${process.arch}`;
  return [path.join(here, '..', '..', 'dist', 'swiftshader', kind), path.join(here, '..', 'swiftshader', kind), '/usr/lib/chromium'];
}

async function fromSoftware(dawn: string, tried: string[], system: Node): Promise<Found | undefined> {
  const { fs, path } = system;
  if (process.platform !== 'linux') return undefined;
  const folder = softwareFolders(system).find((one) => fs.existsSync(path.join(one, 'vk_swiftshader_icd.json')));
  if (folder === undefined) {
    tried.push('software Vulkan (SwiftShader) is not there');
    return undefined;
  }
  process.env['VK_ICD_FILENAMES'] = path.join(folder, 'vk_swiftshader_icd.json');
  process.env['XDG_RUNTIME_DIR'] ??= system.os.tmpdir();
  const loader = softwareFolders(system)
    .map((one) => path.join(one, 'libvulkan.so.1'))
    .find((file) => fs.existsSync(file));
  const binary = hasLoader(system) || loader === undefined ? dawn : sideBySide(dawn, loader, system);
  const gpu = load(binary, system);
  return described(gpu, await gpu.requestAdapter(), tried, `SwiftShader in ${folder}`);
}

/** Dawn's binary with a Vulkan loader beside it, in a folder that is made once. */
function sideBySide(dawn: string, loader: string, { fs, path, os }: Node): string {
  const { size, mtimeMs } = fs.statSync(dawn);
  const folder = path.join(os.tmpdir(), `tidemark-vulkan-${process.getuid?.() ?? 0}-${size}-${Math.round(mtimeMs)}`);
  const binary = path.join(folder, 'dawn.node');
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [from, to] of [
    [loader, path.join(folder, 'libvulkan.so.1')],
    [dawn, binary],
  ] as const) {
    if (fs.existsSync(to) && fs.statSync(to).size === fs.statSync(from).size) continue;
    const part = `${to}.${process.pid}`;
    fs.copyFileSync(from, part);
    fs.renameSync(part, to);
  }
  return binary;
}
