/**
 * Lays out one npm package for the analyser: the code a person would read, with a tsconfig beside it.
 *
 * Packages ship their code several times: original TypeScript, original text inside source maps, modern and old
 * JavaScript, bundles. The version with the most lines that touch our libraries wins, TypeScript before JavaScript; a
 * text that only source maps carry is written to `sources/`. Depends on: cache.mjs.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, posix, relative } from 'node:path';
import { cache, folderOf } from './cache.mjs';

/** What other builds of the library, and a bundle of it, are typed as. */
const tfjs = join(cache, 'node_modules/@tensorflow/tfjs');

const code = /\.(ts|tsx|mts|js|jsx|mjs)$/;
const declaration = /\.d\.m?ts$/;

/** Never a package's own program: other packages, what bundlers wrote, tests, build set-up. */
const foreign = /(^|\/)(node_modules|webpack|external|rollupPluginBabelHelpers|commonjsHelpers|tslib|_virtual)|\(webpack\)|\0/;
const apart =
  /([._](test|spec)|test_util|test-utils?|run_tests|karma|jasmine|\.config|rollup\w*)\.[a-z]+$|(^|\/)(__tests__|tests?|e2e|benchmarks?|demos?|examples?|scripts)\//;

/** Text that our library models speak about. */
const touches = /@tensorflow\/tfjs|@jax-js\/jax|onnxruntime-|\.createBuffer\(|\.createTexture\(|\.createQuerySet\(/g;

/** At most this many files; beyond, only those that touch a library of ours (their imports are read all the same). */
const most = 400;

/** Writes the tsconfig and returns the chosen files, relative to `folder`. */
export function unpack(folder) {
  const ways = [shippedTypeScript(folder), restored(folder), shippedJavaScript(folder)];
  const counts = ways.map((files) => files.filter((path) => touching(join(folder, path))).length);
  const best = unbundled(folder, ways[counts.findIndex((count) => count > 0 && count >= Math.max(...counts) / 4)] ?? []);
  // Declarations beside their JavaScript would hide it from the files that import it.
  for (const path of best) if (/\.js$/.test(path)) rmSync(join(folder, path.replace(/\.js$/, '.d.ts')), { force: true });
  const chosen = best.length > most ? best.filter((path) => touching(join(folder, path))) : best;
  writeFileSync(
    join(folder, 'tsconfig.json'),
    `${JSON.stringify(tsconfig(chosen, isCommonJs(chosen.map((path) => join(folder, path)))), undefined, 2)}\n`,
  );
  return chosen;
}

export function touching(path) {
  return readFileSync(path, 'utf8').match(touches) !== null;
}

/** Without bundles of what is there file by file: by their names, or by the module loaders that they serve. */
function unbundled(folder, files) {
  const single = files.filter(
    (path) => !/\.(esm|fesm\d*|bundle)\.js$/.test(path) && !/\bdefine\.amd\b/.test(readFileSync(join(folder, path), 'utf8').slice(0, 1500)),
  );
  return single.length > 2 ? single : files;
}

/** Only some ways of resolving modules follow `require`; with `import` beside it, they are those of the other files. */
function isCommonJs(files) {
  const texts = files.filter((path) => path.endsWith('.js')).map((path) => readFileSync(path, 'utf8'));
  return texts.some((text) => /=\s*require\(["']/.test(text)) && !texts.some((text) => /^import\s/m.test(text));
}

const shippedTypeScript = (folder) => shipped(folder).filter((path) => /\.(ts|tsx|mts)$/.test(path));

/** No file twice in several module formats: source folders and modern modules come first. */
function shippedJavaScript(folder) {
  const seen = new Set();
  return shipped(folder)
    .filter((path) => /\.(js|jsx|mjs)$/.test(path))
    .filter((path) => readable(join(folder, path)))
    .toSorted((a, b) => rank(a) - rank(b))
    .filter((path) => {
      const [name, parent = ''] = path.split('/').toReversed();
      const key = `${parent.replace(/^(dist|lib|build|es|esm|es6|es2017|cjs|src)$/, '')}/${name.replace(/\..*$/, '')}`;
      return !seen.has(key) && seen.add(key);
    });
}

const preferred = [/^src\//, /(^|\/)(es2017|es6|esm|module|es)(\/|\.)/, /^(lib|build|dist\/src)\//, /./];
const rank = (path) => preferred.findIndex((pattern) => pattern.test(path));

const shipped = (folder) =>
  walk(folder)
    .map((path) => relative(folder, path))
    .filter((path) => code.test(path) && !declaration.test(path) && !apart.test(path) && !foreign.test(path));

function readable(path) {
  const { size } = statSync(path);
  if (size > 1_000_000 || size === 0 || /\.min\.|\.umd\.|\.amd\.|\.iife\./.test(path)) return false;
  const text = readFileSync(path, 'utf8');
  return text.length / text.split('\n').length < 120;
}

/** Writes the original files that the package's source maps carry; returns their paths. */
function restored(folder) {
  rmSync(join(folder, 'sources'), { recursive: true, force: true });
  const texts = new Map();
  for (const map of walk(folder).filter((path) => path.endsWith('.map'))) {
    for (const [name, text] of carried(map)) {
      const path = place(folder, map, name);
      if (path !== undefined && !texts.has(path)) texts.set(path, text);
    }
  }
  for (const [path, text] of texts) {
    mkdirSync(dirname(join(folder, 'sources', path)), { recursive: true });
    writeFileSync(join(folder, 'sources', path), text);
  }
  return [...texts.keys()].map((path) => `sources/${path}`);
}

function carried(path) {
  if (statSync(path).size > 60e6) return [];
  try {
    const map = JSON.parse(readFileSync(path, 'utf8'));
    const sections = map.sections === undefined ? [map] : map.sections.map((section) => section.map);
    return sections.flatMap(({ sources = [], sourcesContent = [], sourceRoot = '' }) =>
      sources.flatMap((name, index) =>
        typeof sourcesContent?.[index] === 'string' ? [[`${sourceRoot}${name}`, sourcesContent[index]]] : [],
      ),
    );
  } catch {
    return [];
  }
}

/** Where an original file belongs, from its last `src/` on: bundles and per-file builds name the same file differently. */
function place(folder, map, name) {
  const clean = name.replace(/^[a-z-]+:\/\/\/?/i, '').replace(/\?.*$/, '');
  if (foreign.test(clean) || apart.test(clean) || !code.test(clean) || declaration.test(clean)) return undefined;
  const path = posix.normalize(posix.join('/', relative(folder, dirname(map)), clean)).slice(1);
  const from = path.lastIndexOf('src/');
  if (from < 0 || (from > 0 && path[from - 1] !== '/')) return path;
  const owner = path.slice(0, from).split('/').at(-2) ?? '';
  return owner.startsWith('tfjs-') && owner !== basename(folder) ? undefined : path.slice(from);
}

function walk(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name === 'sources' ? [] : walk(path);
    return entry.isFile() ? [path] : [];
  });
}

const tsconfig = (files, commonJs) => ({
  compilerOptions: {
    target: 'es2022',
    module: commonJs ? 'nodenext' : 'esnext',
    moduleResolution: commonJs ? 'nodenext' : 'bundler',
    lib: ['es2023', 'dom', 'dom.iterable', 'esnext.disposable'],
    types: ['@webgpu/types', 'node'],
    allowJs: true,
    checkJs: false,
    strict: false,
    skipLibCheck: true,
    noEmit: true,
    esModuleInterop: true,
    resolveJsonModule: true,
    jsx: 'preserve',
    experimentalDecorators: true,
    paths: {
      ...Object.fromEntries(['dist/tfjs.esm.js', '@tensorflow/tfjs-node', '@tensorflow/tfjs-node-gpu'].map((name) => [name, [tfjs]])),
      '@tensorflow-models/*': [folderOf('@tensorflow-models/*')],
    },
  },
  files,
});
