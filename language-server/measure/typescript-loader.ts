/**
 * Loads TypeScript into a Node that has no other loader: by TypeScript's own transpile, file by file, with maps for stacks.
 *
 * What `--import` loads where `tsx` or its native part is missing, as in the package that fits every platform. The module
 * is also its own loader hook (loaded with `?hooks`), so the compiler stays off the program's thread. Files are ES
 * modules, unless they are `.cts` or only speak CommonJS. Paths are looked up as the nearest tsconfig.json says.
 * Depends on: typescript, node.
 */
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';

interface Resolved {
  readonly url: string;
  readonly format?: string | null;
  readonly shortCircuit?: boolean;
}

interface ResolveContext {
  readonly parentURL?: string;
}

interface Loaded {
  readonly format: string;
  readonly source?: string | ArrayBuffer | Uint8Array | null;
  readonly shortCircuit?: boolean;
}

type Resolve = (specifier: string, context: ResolveContext) => Promise<Resolved>;
type Load = (url: string, context: object) => Promise<Loaded>;

const isTypeScript = (url: string): boolean => url.startsWith('file:') && /\.[cm]?tsx?$/.test(url.replace(/[?#].*$/, ''));

/** Node's own hook: what Node finds stays; for the rest TypeScript is asked, which knows `paths` and `.js` that means `.ts`. */
export async function resolve(specifier: string, context: ResolveContext, next: Resolve): Promise<Resolved> {
  const found = await next(specifier, context).catch((error: unknown) => ({ error }));
  if ('url' in found) return isTypeScript(found.url) ? { ...found, format: 'module' } : found;
  const { parentURL } = context;
  const file = parentURL?.startsWith('file:') === true ? resolvedByCompiler(specifier, fileURLToPath(parentURL)) : undefined;
  if (file === undefined) throw found.error;
  return { url: pathToFileURL(file).href, ...(isTypeScript(pathToFileURL(file).href) ? { format: 'module' } : {}), shortCircuit: true };
}

function resolvedByCompiler(specifier: string, from: string): string | undefined {
  const options = { ...optionsFor(from), allowImportingTsExtensions: true, module: ts.ModuleKind.ESNext, moduleResolution: bundler };
  const file = ts.resolveModuleName(specifier, from, options, ts.sys).resolvedModule?.resolvedFileName;
  return file === undefined || /\.d\.[cm]?ts$/.test(file) ? undefined : file;
}

const bundler = ts.ModuleResolutionKind.Bundler;

/** Node's own hook: TypeScript becomes JavaScript. */
export async function load(url: string, context: object, next: Load): Promise<Loaded> {
  if (!isTypeScript(url)) return next(url, context);
  const file = fileURLToPath(url);
  const source = await readFile(file, 'utf8');
  const isCommonJs = file.endsWith('.cts') || speaksCommonJs(source);
  const { outputText } = ts.transpileModule(source, {
    fileName: file,
    compilerOptions: {
      ...optionsFor(file),
      target: ts.ScriptTarget.ES2022,
      module: isCommonJs ? ts.ModuleKind.CommonJS : ts.ModuleKind.ESNext,
      inlineSourceMap: true,
      sourceMap: false,
      noEmit: false,
    },
  });
  return { format: isCommonJs ? 'commonjs' : 'module', source: outputText, shortCircuit: true };
}

const speaksCommonJs = (source: string): boolean =>
  !/^\s*(?:import|export)\b/m.test(source) && /\b(?:require\s*\(|module\.exports\b|exports\.)/.test(source);

const known = new Map<string, ts.CompilerOptions>();

/** What the nearest tsconfig.json says; nothing when there is none or it cannot be read. */
function optionsFor(file: string): ts.CompilerOptions {
  const folder = dirname(file);
  let options = known.get(folder);
  if (options === undefined) {
    const path = ts.findConfigFile(folder, ts.sys.fileExists);
    const read = path === undefined ? undefined : ts.readConfigFile(path, ts.sys.readFile);
    options =
      path === undefined || read?.config === undefined ? {} : ts.parseJsonConfigFileContent(read.config, ts.sys, dirname(path)).options;
    known.set(folder, options);
  }
  return options;
}

if (!new URL(import.meta.url).searchParams.has('hooks')) {
  process.setSourceMapsEnabled(true);
  const url = new URL(import.meta.url);
  url.searchParams.set('hooks', '');
  register(url.href);
}
