/**
 * Makes `dist/`: bundles of the extension, the server with the command line, the runtime, its types, and what they need beside them.
 *
 *   dist/extension.cjs                      the VS Code client
 *   dist/server.js  dist/tidemark.js        server and command line; they share chunks, TypeScript among them
 *   dist/lib/                               TypeScript's declarations of the standard library
 *   dist/runtime/{index,jax-js,testing,register}.js, browser.js
 *   dist/types/                             declarations of the runtime for its users
 *   dist/swiftshader/linux-x64/             the software Vulkan
 *   dist/timeline/                          script and style of the timeline's webview
 *
 * Only stale parts are made; `--force` makes all. Depends on: esbuild, typescript, support/parts.
 */
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';
import { build, transform } from 'esbuild';
import { dist, fingerprint, isThere, parts, stamps } from './support/parts.mjs';
import { main, root, run } from './support/run.mjs';

const force = process.argv.includes('--force');
const production = !process.argv.includes('--debug');

const shared = {
  absWorkingDir: root,
  bundle: true,
  logLevel: 'warning',
  minify: production,
  keepNames: true,
  sourcemap: production ? false : 'inline',
  legalComments: 'none',
  target: 'node20',
  platform: 'node',
};

/** What a CommonJS module finds in scope, for those that end up in an ES module. */
const commonJsScope = [
  "import { createRequire as __createRequire } from 'node:module';",
  "import { fileURLToPath as __fileURLToPath } from 'node:url';",
  "import { dirname as __dirnameOf } from 'node:path';",
  'const require = __createRequire(import.meta.url);',
  'const __filename = __fileURLToPath(import.meta.url);',
  'const __dirname = __dirnameOf(__filename);',
].join('\n');

/** TypeScript looks for its declarations beside itself; in the bundle they lie in `lib/`. */
const declarationsInLib = {
  name: 'declarations-in-lib',
  setup(builder) {
    builder.onLoad({ filter: /typescript[\\/]lib[\\/]typescript\.js$/ }, async ({ path: file }) => {
      const source = await readFile(file, 'utf8');
      const moved = source.replace(
        /getExecutingFilePath\(\) \{\s*return [^;]+;/,
        "getExecutingFilePath() { return require('path').join(__dirname, 'lib', 'typescript.js');",
      );
      if (moved === source) throw new Error('typescript.js no longer has the function that says where its declarations lie');
      const { code } = await transform(moved, { loader: 'js', minify: production, target: shared.target, platform: 'node' });
      return { contents: code, loader: 'js' };
    });
  },
};

const makers = {
  async extension() {
    await build({ ...shared, entryPoints: ['extension/main.ts'], outfile: 'dist/extension.cjs', format: 'cjs', external: ['vscode'] });
    if (existsSync(path.join(root, 'extension/timeline/view/main.ts'))) {
      await build({
        ...shared,
        platform: 'browser',
        target: 'es2022',
        entryPoints: { view: 'extension/timeline/view/main.ts', 'view-style': 'extension/timeline/view/style.css' },
        outdir: 'dist/timeline',
        format: 'iife',
      });
    }
  },

  async 'server and command line'() {
    const entryPoints = {
      server: 'language-server/main.ts',
      'analysis-worker': 'language-server/lsp/analysis-worker.ts',
      'typescript-loader': 'language-server/measure/typescript-loader.ts',
    };
    if (existsSync(path.join(root, 'language-server/cli/main.ts'))) entryPoints.tidemark = 'language-server/cli/main.ts';
    else console.log('  command line: language-server/cli/main.ts is not there yet');
    for (const name of await readdir(dist).catch(() => [])) {
      if (/^(chunk-.*|server|analysis-worker|typescript-loader|tidemark)\.js$/.test(name)) await rm(path.join(dist, name));
    }
    await build({
      ...shared,
      // Names of functions are shown, so ours stay; calls that would restore them cost a fifth of the time of a check.
      keepNames: false,
      minify: false,
      minifyWhitespace: production,
      minifySyntax: production,
      entryPoints,
      outdir: 'dist',
      format: 'esm',
      splitting: true,
      chunkNames: 'chunk-[hash]',
      external: ['webgpu', 'tsx', 'tsx/*', 'esbuild'],
      banner: { js: commonJsScope },
      plugins: [declarationsInLib],
    });
    if (entryPoints.tidemark !== undefined) {
      const file = path.join(dist, 'tidemark.js');
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.startsWith('#!') ? text : `#!/usr/bin/env node\n${text}`);
      await chmod(file, 0o755);
    }
  },

  async runtime() {
    const entryPoints = Object.fromEntries(
      [
        ['index', 'runtime/index.ts'],
        ['jax-js', 'runtime/jax-js.ts'],
        ['testing', 'runtime/testing.ts'],
      ].filter(([, file]) => existsSync(path.join(root, file)) || console.log(`  ${file} is not there yet`)),
    );
    // One graph for all entries: two copies of the runtime in one program would not know each other's arrays.
    const { metafile } = await build({
      metafile: true,
      ...shared,
      minify: false,
      entryPoints,
      outdir: 'dist/runtime',
      format: 'esm',
      splitting: true,
      chunkNames: 'chunk-[hash]',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      target: 'es2022',
      external: ['webgpu', 'node:*'],
      sourcemap: true,
      sourcesContent: false,
    });
    // Chunks of earlier builds belong to nothing any more.
    const folder = path.join(dist, 'runtime');
    const made = new Set(Object.keys(metafile.outputs).map((file) => path.basename(file)));
    for (const name of await readdir(folder)) if (name.startsWith('chunk-') && !made.has(name)) await rm(path.join(folder, name));
  },

  async instrument() {
    await build({
      ...shared,
      minify: false,
      entryPoints: { register: 'runtime/instrument/register.ts' },
      outdir: 'dist/runtime',
      format: 'esm',
      external: ['webgpu', 'tsx', 'tsx/*'],
      banner: { js: commonJsScope },
    });
  },

  async 'page instrument'() {
    await build({
      ...shared,
      platform: 'browser',
      target: 'es2022',
      entryPoints: { browser: 'runtime/instrument/browser.ts' },
      outdir: 'dist/runtime',
      format: 'iife',
    });
  },

  async types() {
    const work = await mkdtemp(path.join(os.tmpdir(), 'tidemark-types-'));
    const config = path.join(work, 'tsconfig.json');
    const files = ['runtime/index.ts', 'runtime/jax-js.ts', 'runtime/testing.ts', 'runtime/instrument/register.ts']
      .map((file) => path.join(root, file))
      .filter((file) => existsSync(file));
    await writeFile(
      config,
      JSON.stringify({
        extends: path.join(root, 'tsconfig.json'),
        compilerOptions: {
          noEmit: false,
          declaration: true,
          emitDeclarationOnly: true,
          allowImportingTsExtensions: false,
          rewriteRelativeImportExtensions: true,
          stripInternal: true,
          rootDir: root,
          outDir: path.join(work, 'types'),
          typeRoots: [path.join(root, 'node_modules/@types')],
          types: ['node', path.join(root, 'node_modules/@webgpu/types')],
        },
        files,
        include: [],
        exclude: [],
      }),
    );
    const failure = await run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', config], { capture: true }).then(
      () => undefined,
      (error) => error,
    );
    if (!existsSync(path.join(work, 'types'))) throw failure ?? new Error('tsc wrote no declarations');
    await withJsExtensions(path.join(work, 'types'));
    await rm(path.join(dist, 'types'), { recursive: true, force: true });
    await run('cp', ['-r', path.join(work, 'types'), path.join(dist, 'types')]);
    await rm(work, { recursive: true, force: true });
    if (failure !== undefined) throw failure;
  },

  async 'library declarations'() {
    const from = path.join(root, 'node_modules/typescript/lib');
    await mkdir(path.join(dist, 'lib'), { recursive: true });
    for (const name of await readdir(from)) {
      if (/^lib\..*\.d\.ts$|^lib\.d\.ts$/.test(name)) await copyFile(path.join(from, name), path.join(dist, 'lib', name));
    }
  },

  async 'software Vulkan'() {
    const archive = path.join(root, 'node_modules/@sparticuz/chromium/bin/swiftshader.tar.br');
    const work = await mkdtemp(path.join(os.tmpdir(), 'tidemark-vulkan-'));
    await writeFile(path.join(work, 'all.tar'), zlib.brotliDecompressSync(await readFile(archive)));
    await run('tar', ['xf', 'all.tar'], { cwd: work });
    const to = path.join(dist, 'swiftshader', 'linux-x64');
    await mkdir(to, { recursive: true });
    for (const name of ['libvk_swiftshader.so', 'libvulkan.so.1', 'vk_swiftshader_icd.json']) {
      await copyFile(path.join(work, name), path.join(to, name));
    }
    await rm(work, { recursive: true, force: true });
  },
};

/** Declarations name their neighbours as people's compilers look for them, `./x.js`, and the parts of the library they need. */
async function withJsExtensions(folder) {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.d.ts')) continue;
    const file = path.join(entry.parentPath, entry.name);
    const text = await readFile(file, 'utf8');
    const named = text.replace(/((?:from|import)\s*\(?\s*["']\.{1,2}\/[^"']*)\.ts(["'])/g, '$1.js$2');
    // Arrays can be disposed by `using`; a project whose own `lib` is older still compiles.
    const head = /Symbol\.dispose|Disposable\b/.test(named) ? '/// <reference lib="esnext.disposable" />\n' : '';
    await writeFile(file, head + named);
  }
}

await main(async () => {
  await mkdir(dist, { recursive: true });
  const made = force ? {} : await stamps();
  const failed = [];
  for (const part of parts) {
    if (!isThere(part)) {
      console.log(`${part.name}: ${part.needs} is not there yet`);
      continue;
    }
    const print = await fingerprint(part);
    if (made[part.name] === print) continue;
    const started = Date.now();
    try {
      await makers[part.name]();
      made[part.name] = print;
      console.log(`${part.name}: made in ${((Date.now() - started) / 1000).toFixed(1)} s`);
    } catch (error) {
      delete made[part.name];
      failed.push(part.name);
      console.error(`${part.name}: ${error.message.split('\n').slice(0, 12).join('\n')}`);
    }
    await writeFile(path.join(dist, 'parts.json.part'), JSON.stringify(made, null, 2));
    await rename(path.join(dist, 'parts.json.part'), path.join(dist, 'parts.json'));
  }
  if (failed.length > 0) {
    console.error(`not made: ${failed.join(', ')}`);
    process.exitCode = 1;
  }
});
