/**
 * A Vulkan loader for a process that the profiler did not start, and that therefore lacks its search path.
 *
 * Where the machine has none, ours is loaded beforehand and kept, and whoever asks for it by name gets it. Depends on: node.
 */
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const folders = ['/usr/lib', '/usr/lib64', '/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/local/lib', '/lib64'];
/** glibc's flag for a library that stays when who opened it lets go. */
const keep = 0x1000;

/** `shipped` is the folder that has `swiftshader/<platform>-<arch>` in it. */
export function loadVulkan(shipped: string): void {
  const loader = join(shipped, 'swiftshader', `${process.platform}-${process.arch}`, 'libvulkan.so.1');
  if (process.platform !== 'linux' || process.env['LD_LIBRARY_PATH']?.includes(shipped) === true || !existsSync(loader)) return;
  if (folders.some((folder) => existsSync(join(folder, 'libvulkan.so.1')))) return;
  const { RTLD_NOW, RTLD_GLOBAL } = constants.dlopen;
  try {
    process.dlopen({ exports: {} }, loader, RTLD_NOW | RTLD_GLOBAL | keep);
  } catch {
    // It is no addon, which Node says after loading it.
  }
}
