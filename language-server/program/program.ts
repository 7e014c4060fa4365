/**
 * One incremental TypeScript program per tsconfig, and what the lowering asks it.
 *
 * Only the bundled compiler is used; the workspace's own, and plugins of its tsconfig, are never loaded. A file that no
 * tsconfig takes in gets a program of its own with the options of the nearest one, or sensible ones.
 * Depends on: host, reach, typescript.
 */
import { dirname, resolve } from 'node:path';
import ts from 'typescript';
import { isSource, type Texts } from './host.ts';
import { createReach, type Aliases } from './reach.ts';

/** What the lowering asks of the type checker; a second provider can stand behind it. */
export interface TypeFacts {
  readonly checker: ts.TypeChecker;
  readonly program: ts.Program;
  /** A file of the project itself: not a declaration, not from node_modules. */
  isOwn(file: ts.SourceFile): boolean;
  /** Changes when anything the file was typed against may have changed. */
  version(file: string): string;
}

export interface TypedProgram {
  /** The tsconfig, or undefined for files outside any. */
  readonly config: string | undefined;
  /** Files that this program takes in by itself. */
  readonly roots: ReadonlySet<string>;
  /** Types of `wanted`, of what imports them, and of all that those import; of all files without `wanted`. */
  facts(wanted?: ReadonlySet<string>): TypeFacts;
  add(file: string): void;
  /** The tsconfig itself or the set of files may have changed. */
  reload(): void;
  dispose(): void;
}

const fallback: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.esnext.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  allowJs: true,
  checkJs: false,
  jsx: ts.JsxEmit.Preserve,
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  esModuleInterop: true,
  resolveJsonModule: true,
};

interface Configuration {
  readonly options: ts.CompilerOptions;
  readonly files: readonly string[];
}

function readConfiguration(config: string | undefined): Configuration {
  if (config === undefined) return { options: fallback, files: [] };
  const read = ts.readConfigFile(config, (path) => ts.sys.readFile(path));
  const parsed = ts.parseJsonConfigFileContent(read.config ?? {}, ts.sys, dirname(config), undefined, config);
  const options = { ...parsed.options, noEmit: true, skipLibCheck: true, allowJs: true };
  delete options.composite;
  delete options.incremental;
  delete options.tsBuildInfoFile;
  return { options, files: parsed.fileNames.map((file) => resolve(file)) };
}

/** What `paths` of a tsconfig and `imports` of a package.json may mean by a name. */
function aliasesOf(options: ts.CompilerOptions, config: string | undefined): Aliases {
  const base = resolve(config === undefined ? '.' : dirname(config), String(options.baseUrl ?? options['pathsBasePath'] ?? '.'));
  const patterns = Object.entries(options.paths ?? {}).map(([pattern, targets]) => ({ parts: pattern.split('*'), targets }));
  return (specifier, from) => {
    if (specifier.startsWith('#')) {
      const found = ts.resolveModuleName(specifier, from, options, ts.sys).resolvedModule;
      return found === undefined || found.isExternalLibraryImport === true ? [] : [found.resolvedFileName];
    }
    const named = patterns.flatMap(({ parts: [head = '', tail], targets }) => {
      if (tail === undefined) return specifier === head ? targets : [];
      return specifier.startsWith(head) && specifier.endsWith(tail)
        ? targets.map((target) => target.replace('*', () => specifier.slice(head.length, specifier.length - tail.length)))
        : [];
    });
    return [...named, ...(options.baseUrl === undefined ? [] : [specifier])].map((file) => resolve(base, file));
  };
}

/** Comments of declarations are never shown; those that give types in JavaScript are read all the same. */
const comments = ts.JSDocParsingMode.ParseForTypeErrors;

/** Syntax trees shared between programs. */
export type Registry = ts.DocumentRegistry;
export const createRegistry = (): Registry => ts.createDocumentRegistry(undefined, undefined, comments);

export function createProgram(texts: Texts, registry: Registry, config: string | undefined): TypedProgram {
  let configuration = readConfiguration(config);
  const extra = new Set<string>();
  let reach = createReach(texts, aliasesOf(configuration.options, config));
  let generation = 0;
  let needed: readonly string[] = [];
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => configuration.options,
    jsDocParsingMode: comments,
    getScriptFileNames: () => [...needed],
    getScriptVersion: (file) => texts.version(file),
    getScriptSnapshot: (file) => {
      const text = texts.read(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getProjectVersion: () => `${generation}:${texts.revision}`,
    getCurrentDirectory: () => (config === undefined ? process.cwd() : dirname(config)),
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (file) => texts.exists(file),
    readFile: (file) => texts.read(file),
    readDirectory: (...args) => ts.sys.readDirectory(...args),
    directoryExists: (directory) => ts.sys.directoryExists(directory),
    getDirectories: (directory) => ts.sys.getDirectories(directory),
    ...(ts.sys.realpath === undefined ? {} : { realpath: ts.sys.realpath }),
  };
  const service = ts.createLanguageService(host, registry);
  return {
    config,
    get roots() {
      return new Set([...configuration.files, ...extra]);
    },
    facts(wanted) {
      const all = [...new Set([...configuration.files, ...extra])].filter((file) => texts.exists(file));
      const files = wanted === undefined ? all : reach.of(all, wanted);
      if (files.length !== needed.length || files.some((file, index) => file !== needed[index])) generation++;
      needed = files;
      const program = service.getProgram();
      if (program === undefined) throw new Error('internal: program: the language service gave no program');
      return {
        program,
        checker: program.getTypeChecker(),
        isOwn: (file) => !file.isDeclarationFile && isSource(file.fileName) && !file.fileName.includes('/node_modules/'),
        version: (file) => texts.version(file),
      };
    },
    add(file) {
      if (configuration.files.includes(file) || extra.has(file)) return;
      extra.add(file);
      generation++;
    },
    reload() {
      configuration = readConfiguration(config);
      reach = createReach(texts, aliasesOf(configuration.options, config));
      generation++;
    },
    dispose: () => service.dispose(),
  };
}
