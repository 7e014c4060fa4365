/**
 * `npm run package`: the VSIX for linux-x64 with all that profiling needs, and a universal one without native code.
 *
 * A folder is laid out with exactly what goes in, and vsce packs that: nothing enters by being forgotten in a list of
 * exceptions. What the measured program needs to find by import lies in `dist/node_modules`. Prints sizes.
 * Depends on: vsce, setup.
 */
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setup } from './setup.mjs';
import { main, root, run } from './support/run.mjs';

const documents = [
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'THIRD_PARTY_NOTICES',
  'package.nls.json',
  'tidemark.schema.json',
  'l10n',
  'images',
  'examples',
];

/** What of `dist` goes in; other things may lie there, such as bundles of benchmarks. */
const made =
  /^(extension\.cjs|(server|tidemark|analysis-worker|typescript-loader|chunk-.*)\.js|runtime|types|lib|timeline|runtime-package\.json|tidemark-runtime\.tgz)$/;

/** Native parts and what they belong to: only the VSIX of that platform carries them. */
const nativeParts = ['swiftshader'];

/** Packages that the measured program finds beside the bundles; `keep` says which of their files. */
const portablePackages = [
  { name: 'tsx', keep: (file) => !file.endsWith('.md') && !file.endsWith('.d.ts') && !file.endsWith('.d.mts') && !file.endsWith('.d.cts') },
];
const linuxPackages = [
  { name: 'esbuild', keep: (file) => /^(package\.json|LICENSE\.md|lib\/main\.js|lib)$/.test(file) },
  { name: '@esbuild/linux-x64', keep: () => true },
  { name: 'webgpu', keep: (file) => /^(package\.json|LICENSE\.md|index\.js|dist|dist\/linux-x64.*)$/.test(file) },
];

export const vsix = {
  linux: path.join(root, 'dist', 'tidemark-linux-x64.vsix'),
  universal: path.join(root, 'dist', 'tidemark-universal.vsix'),
};

/** The npm package of the runtime alone, which `Tidemark: Add the Tidemark Runtime` installs into a project. */
const runtimePackage = 'tidemark-runtime.tgz';

export async function packageExtension() {
  await packRuntime();
  await pack({ out: vsix.linux, target: 'linux-x64', packages: [...portablePackages, ...linuxPackages], native: true });
  await pack({ out: vsix.universal, target: undefined, packages: portablePackages, native: false });
}

async function packRuntime() {
  const stage = await mkdtemp(path.join(os.tmpdir(), 'tidemark-runtime-'));
  try {
    for (const name of ['LICENSE', 'CHANGELOG.md', 'dist/runtime', 'dist/types']) {
      const withoutMaps = (file) => !file.endsWith('.map');
      await cp(path.join(root, name), path.join(stage, name), { recursive: true, filter: withoutMaps });
    }
    const whole = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
    const kept = ['name', 'version', 'description', 'license', 'author', 'type', 'keywords', 'exports', 'engines'];
    const own = Object.fromEntries(kept.filter((key) => whole[key] !== undefined).map((key) => [key, whole[key]]));
    // A device for Node and a loader for TypeScript: whoever has them in the project gets them used.
    const optional = ['webgpu', 'tsx'];
    const version = (name) => whole.dependencies?.[name] ?? whole.devDependencies[name];
    const peers = {
      peerDependencies: Object.fromEntries(optional.map((name) => [name, `^${version(name)}`])),
      peerDependenciesMeta: Object.fromEntries(optional.map((name) => [name, { optional: true }])),
    };
    const { vscode: _editor, ...engines } = own.engines ?? {};
    await writeFile(path.join(stage, 'package.json'), `${JSON.stringify({ ...own, engines, ...peers }, null, 2)}\n`);
    await copyFile(path.join(stage, 'package.json'), path.join(root, 'dist', 'runtime-package.json'));
    await run('npm', ['pack', '--silent', '--pack-destination', stage], { cwd: stage, quiet: true });
    const packed = path.join(root, 'dist', runtimePackage);
    await copyFile(path.join(stage, `${whole.name}-${whole.version}.tgz`), packed);
    console.log(`${path.relative(root, packed)}: ${((await stat(packed)).size / 2 ** 20).toFixed(2)} MiB`);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

async function pack({ out, target, packages, native }) {
  const stage = await mkdtemp(path.join(os.tmpdir(), 'tidemark-vsix-'));
  try {
    await layOut(stage, { packages, native });
    const args = [
      'package',
      '--no-dependencies',
      '--allow-missing-repository',
      '--no-rewrite-relative-links',
      '--skip-license',
      '--out',
      out,
    ];
    if (target !== undefined) args.push('--target', target);
    await run(process.execPath, [path.join(root, 'node_modules/@vscode/vsce/vsce'), ...args], { cwd: stage, quiet: true });
    const { size } = await stat(out);
    const files = (await readdir(stage, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    let unpacked = 0;
    for (const file of files) unpacked += (await stat(path.join(file.parentPath, file.name))).size;
    const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
    console.log(`${path.relative(root, out)}: ${mebibytes(size)} (${mebibytes(unpacked)} unpacked, ${files.length} files)`);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

async function layOut(stage, { packages, native }) {
  for (const name of documents) {
    if (existsSync(path.join(root, name))) await cp(path.join(root, name), path.join(stage, name), { recursive: true });
  }
  await writeFile(path.join(stage, 'package.json'), `${JSON.stringify(await manifest(), null, 2)}\n`);
  await writeFile(path.join(stage, '.vscodeignore'), '.vscodeignore\n');
  const dist = path.join(root, 'dist');
  for (const name of await readdir(dist)) {
    if (!made.test(name) && !(native && nativeParts.includes(name))) continue;
    await cp(path.join(dist, name), path.join(stage, 'dist', name), { recursive: true });
  }
  await cp(path.join(root, 'extension', 'sample'), path.join(stage, 'dist', 'sample'), { recursive: true });
  for (const { name, keep } of packages) {
    const from = path.join(root, 'node_modules', name);
    const to = path.join(stage, 'dist', 'node_modules', name);
    await mkdir(path.dirname(to), { recursive: true });
    await cp(from, to, { recursive: true, filter: (file) => file === from || keep(path.relative(from, file)) });
  }
}

/** The manifest without what only a clone needs. */
async function manifest() {
  const whole = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const onlyForClones = new Set(['devDependencies', 'dependencies', 'scripts', 'exports', 'bin']);
  return Object.fromEntries(Object.entries(whole).filter(([key]) => !onlyForClones.has(key)));
}

if (process.argv[1] === import.meta.filename) {
  await main(async () => {
    await setup();
    await packageExtension();
  });
}
