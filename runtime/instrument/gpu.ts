/**
 * Gives a program `navigator.gpu` where there is none: the `webgpu` package of its project, else ours.
 *
 * The object that `create()` returns is pinned, since the process dies when it is collected. Where the machine has no
 * Vulkan driver, the software one that we ship is named in the environment before the first adapter is asked for.
 * What touches the machine comes in as functions. Depends on: nothing.
 */
export interface Machine {
  readonly platform: string;
  readonly arch: string;
  readonly env: Record<string, string | undefined>;
  exists(path: string): boolean;
  /** File names in a folder; none when it isn't there. */
  list(path: string): readonly string[];
  /** The file that `name` leads to, seen from `from`. */
  resolve(name: string, from: string): string | undefined;
  load(path: string): Promise<unknown>;
}

export interface GPUPackage {
  create(options: readonly string[]): GPU;
  readonly globals: Readonly<Record<string, unknown>>;
  readonly from: string;
}

/** The first `webgpu` that can be loaded; `tried` says what was looked at, for a message. */
export async function findGPU(
  machine: Machine,
  folders: readonly string[],
  shipped: string,
): Promise<GPUPackage | { readonly tried: readonly string[] }> {
  const tried: string[] = [];
  const candidates = [
    ...folders.map((folder) => machine.resolve('webgpu', folder)),
    `${shipped}/native/${machine.platform}-${machine.arch}/dawn.node`,
  ];
  for (const path of candidates) {
    if (path === undefined || tried.includes(path) || !machine.exists(path)) continue;
    tried.push(path);
    try {
      const loaded = await machine.load(path);
      if (isGPUPackage(loaded)) return { create: loaded.create, globals: loaded.globals, from: path };
    } catch {
      // Not for this machine: the next candidate may be.
    }
  }
  return { tried };
}

function isGPUPackage(value: unknown): value is Omit<GPUPackage, 'from'> {
  if (typeof value !== 'object' || value === null || !('create' in value) || !('globals' in value)) return false;
  return typeof value.create === 'function' && typeof value.globals === 'object';
}

const driverFolders = ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d', '/usr/local/share/vulkan/icd.d', '/usr/local/etc/vulkan/icd.d'];

/** The driver file of the software Vulkan to use, when the machine has no driver of its own. */
export function softwareDriver(machine: Machine, shipped: string): string | undefined {
  if (machine.platform !== 'linux') return undefined;
  if (machine.env['VK_ICD_FILENAMES'] !== undefined || machine.env['VK_DRIVER_FILES'] !== undefined) return undefined;
  if (driverFolders.some((folder) => machine.list(folder).some((name) => name.endsWith('.json')))) return undefined;
  const candidates = [
    `${shipped}/swiftshader/${machine.platform}-${machine.arch}/vk_swiftshader_icd.json`,
    '/usr/lib/chromium/vk_swiftshader_icd.json',
  ];
  return candidates.find((path) => machine.exists(path));
}

/** The environment that makes `softwareDriver` work, to be set before the first adapter is asked for. */
export function softwareEnvironment(machine: Machine, driver: string): Readonly<Record<string, string>> {
  return {
    VK_ICD_FILENAMES: driver,
    ...(machine.env['XDG_RUNTIME_DIR'] === undefined ? { XDG_RUNTIME_DIR: '/tmp' } : {}),
  };
}

/** Puts `gpu` and the constants of its package where a program looks for them; leaves alone what is there. */
export function install(target: typeof globalThis, { globals }: GPUPackage, gpu: GPU, userAgent: string): void {
  const holder: Record<PropertyKey, unknown> = target as never;
  holder[Symbol.for('tidemark.gpu')] = gpu;
  for (const [name, value] of Object.entries(globals))
    if (!(name in holder)) Object.defineProperty(holder, name, { value, configurable: true, writable: true, enumerable: false });
  // Older Nodes have no `navigator`; libraries that find one ask it who it is.
  if (!('navigator' in holder)) Object.defineProperty(holder, 'navigator', { value: { userAgent }, configurable: true, writable: true });
  const navigator = holder['navigator'];
  if (typeof navigator !== 'object' || navigator === null || 'gpu' in navigator) return;
  Object.defineProperty(navigator, 'gpu', { value: gpu, configurable: true, writable: true, enumerable: true });
}
