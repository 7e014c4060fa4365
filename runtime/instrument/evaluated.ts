/**
 * Text that a program evaluates by itself, as test runners do with each file: the source map at its end, kept until a report needs it.
 *
 * Node knows the maps of modules that it loads itself, and no others. Nothing is added to such text: runners find the place of
 * an inline snapshot by the column of a call. Depends on: node.
 */
import module from 'node:module';
import vm from 'node:vm';

/** The inline map of a file that was evaluated last, read when it is asked for. */
export type EvaluatedMaps = (file: string) => object | undefined;

const opening = /^\/\/[#@] sourceMappingURL=data:application\/json[^,]*;base64,([A-Za-z0-9+/=]+)\s*$/gm;

export function watchEvaluated(): EvaluatedMaps {
  const texts = new Map<string, string>();

  const note = (text: unknown, named: unknown): void => {
    const file = typeof named === 'object' && named !== null && 'filename' in named ? named.filename : named;
    if (typeof text === 'string' && typeof file === 'string' && text.includes('sourceMappingURL=data:')) texts.set(file, text);
  };

  const { runInThisContext, runInContext, runInNewContext, compileFunction } = vm;
  vm.runInThisContext = function tidemarkRunInThisContext(...args: Parameters<typeof runInThisContext>) {
    note(args[0], args[1]);
    return runInThisContext.apply(vm, args) as unknown;
  };
  vm.runInContext = function tidemarkRunInContext(...args: Parameters<typeof runInContext>) {
    note(args[0], args[2]);
    return runInContext.apply(vm, args) as unknown;
  };
  vm.runInNewContext = function tidemarkRunInNewContext(...args: Parameters<typeof runInNewContext>) {
    note(args[0], args[2]);
    return runInNewContext.apply(vm, args) as unknown;
  };
  vm.compileFunction = function tidemarkCompileFunction(...args: Parameters<typeof compileFunction>) {
    note(args[0], args[2]);
    return compileFunction.apply(vm, args);
  };
  vm.Script = new Proxy(vm.Script, {
    construct(script, args: unknown[], made) {
      note(args[0], args[1]);
      return Reflect.construct(script, args, made) as object;
    },
  });
  module.syncBuiltinESMExports();

  return (file) => {
    const text = texts.get(file);
    const encoded = text === undefined ? undefined : [...text.matchAll(opening)].at(-1)?.[1];
    if (encoded === undefined) return undefined;
    try {
      const map: unknown = JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'));
      return map instanceof Object ? map : undefined;
    } catch {
      return undefined;
    }
  };
}
