/**
 * What a type says about device memory, and which package a declaration belongs to.
 *
 * Answers come from the declaration that a type or symbol has, never from spelling. Facts are computed once per type and
 * go three levels deep: deeper trees are known to hold arrays, not where. Depends on: libraries, ir, typescript.
 */
import ts from 'typescript';
import type { LibraryModel } from '../libraries/model.ts';
import { consumingEntry } from '../libraries/index.ts';
import { speaksOf } from '../libraries/model.ts';
import type { ClassId, TypeFact } from './ir.ts';

export const nothing: TypeFact = { holds: 'nothing' };
export const unknownType: TypeFact = { holds: 'unknown' };
const depthLimit = 3;

/** The package (or ambient module) a declaration belongs to; `lib` for the language's and browser's own. */
export function packageOf(declaration: ts.Node): string | undefined {
  for (let node: ts.Node | undefined = declaration; node !== undefined; node = node.parent) {
    if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name) && !node.name.text.startsWith('.')) return node.name.text;
  }
  const source = declaration.getSourceFile();
  const known = packages.get(source);
  if (known !== undefined) return known.name;
  const name = packageOfFile(source.fileName);
  packages.set(source, { name });
  return name;
}

const packages = new WeakMap<ts.SourceFile, { readonly name: string | undefined }>();

function packageOfFile(file: string): string | undefined {
  const inside = file.lastIndexOf('/node_modules/');
  if (inside >= 0) {
    const parts = file.slice(inside + '/node_modules/'.length).split('/');
    const name = parts[0]!.startsWith('@') ? `${parts[0]}/${parts[1]}` : parts[0]!;
    if (name === 'typescript') return 'lib';
    return name === '@types/node' ? 'lib' : name;
  }
  if (/\/lib\.[\w.]+\.d\.ts$/.test(file)) return 'lib';
  const own = /^(.*?)(?:\/dist\/types)?\/runtime\/(?!.*\/runtime\/).*\.(?:d\.)?ts$/.exec(file);
  return own === null ? undefined : ownPackage(own[1]!, new RegExp(`/runtime/${consumingEntry}\\.(?:d\\.)?ts$`).test(file));
}

const ownNames = new Map<string, string | undefined>();
function ownPackage(folder: string, consuming: boolean): string | undefined {
  if (!ownNames.has(folder)) {
    const text = ts.sys.readFile(`${folder}/package.json`);
    const name: unknown =
      text === undefined ? undefined : (ts.parseConfigFileTextToJson('package.json', text).config as { name?: unknown } | undefined)?.name;
    ownNames.set(folder, typeof name === 'string' ? name : undefined);
  }
  const name = ownNames.get(folder);
  return name !== undefined && consuming ? `${name}/${consumingEntry}` : name;
}

export interface Types {
  of(type: ts.Type): TypeFact;
  modelOfPackage(name: string): LibraryModel | undefined;
  modelOfDeclaration(declaration: ts.Node, typeName?: string): LibraryModel | undefined;
}

export function createTypes(
  checker: ts.TypeChecker,
  models: readonly LibraryModel[],
  classOf: (declaration: ts.ClassLikeDeclaration) => ClassId | undefined,
): Types {
  const known = new Map<ts.Type, TypeFact>();
  const byPackage = new Map<string, LibraryModel | undefined>();
  const modelOfPackage = (name: string): LibraryModel | undefined => {
    if (!byPackage.has(name))
      byPackage.set(
        name,
        models.find((model) => speaksOf(model, name)),
      );
    return byPackage.get(name);
  };
  const byAmbient = new Map<string, LibraryModel | undefined>();
  const modelOfAmbient = (typeName: string): LibraryModel | undefined => {
    if (!byAmbient.has(typeName))
      byAmbient.set(
        typeName,
        models.find(
          (model) =>
            model.modules.includes('lib') &&
            (model.arrays.includes(typeName) || (model.recorders ?? []).includes(typeName) || `${typeName}.*` in model.calls),
        ),
      );
    return byAmbient.get(typeName);
  };
  const modelOfDeclaration = (declaration: ts.Node, typeName?: string): LibraryModel | undefined => {
    const name = packageOf(declaration);
    if (name === undefined) return undefined;
    if (name === 'lib') return typeName === undefined ? undefined : modelOfAmbient(typeName);
    return modelOfPackage(name);
  };

  function of(type: ts.Type, depth: number): TypeFact {
    const done = known.get(type);
    if (done !== undefined) return done;
    if (depth === 0) known.set(type, unknownType);
    if (depth > depthLimit + 2) return nothing;
    const fact = compute(type, depth);
    if (depth === 0) known.set(type, fact);
    return fact;
  }

  function compute(type: ts.Type, depth: number): TypeFact {
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return unknownType;
    if (type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null | ts.TypeFlags.Void)) return { holds: 'nothing', nullable: true };
    if (type.flags & ts.TypeFlags.TypeParameter) {
      const constraint = checker.getBaseConstraintOfType(type);
      return constraint === undefined || constraint === type ? unknownType : of(constraint, depth);
    }
    if (type.isUnion()) return union(type.types.map((member) => of(member, depth)));
    if (type.isIntersection()) {
      const parts = type.types.map((member) => of(member, depth));
      return parts.find((part) => part.holds === 'array' || part.holds === 'owner') ?? parts.find((part) => part.callable) ?? merge(parts);
    }
    if (!(type.flags & ts.TypeFlags.Object)) return nothing;
    return objectFact(type as ts.ObjectType, depth);
  }

  function objectFact(type: ts.ObjectType, depth: number): TypeFact {
    const symbol = type.aliasSymbol ?? type.symbol;
    const own = type.symbol as ts.Symbol | undefined;
    const name = own?.name;
    const declaration = own?.declarations?.[0];
    if (declaration !== undefined && name !== undefined) {
      const model = (own!.declarations ?? []).map((d) => modelOfDeclaration(d, name)).find((m) => m !== undefined);
      if (model !== undefined) {
        if (model.arrays.includes(name)) return { holds: 'array', library: model.id, name };
        if (model.owners.includes(name)) return { holds: 'owner', library: model.id, name };
      }
      const base = heritage(own!);
      if (base !== undefined) return { ...base, name };
      if (packageOf(declaration) === 'lib') {
        const args = type.objectFlags & ts.ObjectFlags.Reference ? checker.getTypeArguments(type as ts.TypeReference) : [];
        const last = args.length === 0 ? undefined : name.endsWith('Map') ? args[1] : args[0];
        if (name === 'Promise' || name === 'PromiseLike') return { ...(last === undefined ? nothing : of(last, depth)), promise: true };
        if (
          /^(Readonly)?(Array|Set|Map)$|^Weak(Map|Set)$|Iter(able|ator)|^Generator$|^AsyncGenerator$|^ArrayIterator$|^MapIterator$|^SetIterator$/.test(
            name,
          ) &&
          last !== undefined
        ) {
          const element = depth >= depthLimit ? { holds: holdsDeep(last, depth) } : of(last, depth + 1);
          return element.holds === 'nothing' && element.class === undefined
            ? { holds: 'nothing', name, element }
            : { holds: element.holds === 'unknown' ? 'unknown' : element.holds === 'nothing' ? 'nothing' : 'tree', name, element };
        }
        if (name === 'Function') return { holds: 'unknown', callable: true };
        return { holds: 'nothing', name };
      }
    }
    if (checker.isTupleType(type)) {
      const args = checker.getTypeArguments(type as ts.TypeReference);
      return tree('tuple', Object.fromEntries(args.map((arg, i) => [String(i), arg])), undefined, depth);
    }
    const calls = type.getCallSignatures();
    if (calls.length > 0 && depth < depthLimit) {
      const result = of(calls[calls.length - 1]!.getReturnType(), depth + 1);
      return { holds: 'nothing', callable: true, result, ...(name === undefined ? {} : { name }) };
    }
    if (calls.length > 0) return { holds: 'nothing', callable: true };
    const classDeclaration = own?.declarations?.find(ts.isClassLike);
    const classId = classDeclaration === undefined ? undefined : classOf(classDeclaration);
    if (classDeclaration !== undefined && classId === undefined) return { holds: 'nothing', ...(name === undefined ? {} : { name }) };
    if (depth >= depthLimit) return { holds: holdsIn(type, depth), ...(classId === undefined ? {} : { class: classId }) };
    const index = type.getStringIndexType() ?? type.getNumberIndexType();
    const properties = type.getProperties();
    if (properties.length > 60)
      return { holds: 'nothing', ...(name === undefined ? {} : { name }), ...(classId === undefined ? {} : { class: classId }) };
    const fields: Record<string, ts.Type> = {};
    for (const property of properties) {
      if (property.flags & ts.SymbolFlags.Method) continue;
      fields[property.name] = checker.getTypeOfSymbol(property);
    }
    const fact = tree(symbol?.name === '__type' ? undefined : symbol?.name, fields, index, depth);
    return classId === undefined ? fact : { ...fact, class: classId };
  }

  /** A class of the user that extends an array or owner of a library. */
  function heritage(symbol: ts.Symbol): TypeFact | undefined {
    for (const declaration of symbol.declarations ?? []) {
      if (!ts.isClassLike(declaration) && !ts.isInterfaceDeclaration(declaration)) continue;
      for (const clause of declaration.heritageClauses ?? []) {
        if (ts.isInterfaceDeclaration(declaration) || clause.token === ts.SyntaxKind.ExtendsKeyword) {
          for (const node of clause.types) {
            const type = checker.getTypeAtLocation(node.expression);
            const of_ = checker.getTypeAtLocation(node);
            const name = of_.symbol?.name ?? type.symbol?.name;
            const model =
              name === undefined
                ? undefined
                : (of_.symbol?.declarations ?? []).map((d) => modelOfDeclaration(d, name)).find((m) => m !== undefined);
            if (model !== undefined && name !== undefined) {
              if (model.arrays.includes(name)) return { holds: 'array', library: model.id, name };
              if (model.owners.includes(name)) return { holds: 'owner', library: model.id, name };
            }
            const above =
              of_.symbol === undefined || of_.symbol === symbol || (model === undefined && packageOf(declaration) === 'lib')
                ? undefined
                : heritage(of_.symbol);
            if (above !== undefined) return above;
          }
        }
      }
    }
    return undefined;
  }

  /** Does a type hold arrays, a few levels further down? */
  function holdsDeep(type: ts.Type, depth: number): TypeFact['holds'] {
    const { holds } = of(type, depth + 1);
    return holds === 'array' || holds === 'owner' ? 'tree' : holds;
  }

  function holdsIn(type: ts.ObjectType, depth: number): TypeFact['holds'] {
    if (depth > depthLimit + 1) return 'nothing';
    const members = [
      type.getStringIndexType(),
      type.getNumberIndexType(),
      ...type
        .getProperties()
        .slice(0, 40)
        .filter((p) => !(p.flags & ts.SymbolFlags.Method))
        .map((p) => checker.getTypeOfSymbol(p)),
    ];
    return members.some((member) => member !== undefined && holdsDeep(member, depth) === 'tree') ? 'tree' : 'nothing';
  }

  function tree(name: string | undefined, members: Readonly<Record<string, ts.Type>>, index: ts.Type | undefined, depth: number): TypeFact {
    const fields: Record<string, TypeFact> = {};
    let holds: TypeFact['holds'] = 'nothing';
    let interesting = false;
    for (const [key, member] of Object.entries(members)) {
      const fact = of(member, depth + 1);
      if (fact.holds === 'nothing' && fact.class === undefined && !fact.callable) continue;
      fields[key] = fact;
      interesting = true;
      if (fact.holds === 'array' || fact.holds === 'owner' || fact.holds === 'tree') holds = 'tree';
    }
    const element = index === undefined ? undefined : of(index, depth + 1);
    if (element !== undefined && element.holds !== 'nothing') {
      interesting = true;
      holds = element.holds === 'unknown' && holds === 'nothing' ? 'unknown' : 'tree';
    }
    return {
      holds,
      ...(name === undefined ? {} : { name }),
      ...(interesting ? { fields } : {}),
      ...(element === undefined ? {} : { element }),
    };
  }

  return { of: (type) => of(type, 0), modelOfPackage, modelOfDeclaration };
}

/** The library that a class extends a class of; the empty name for one of the language's or the platform's own. */
export function libraryOfBase(
  checker: ts.TypeChecker,
  types: Types,
  named: LibraryModel | undefined,
  extended: ts.ExpressionWithTypeArguments,
): string | undefined {
  const { symbol } = checker.getTypeAtLocation(extended);
  const declarations = symbol?.declarations ?? [];
  const declared = declarations
    .map((declaration) => types.modelOfDeclaration(declaration, symbol.name))
    .find((model) => model !== undefined);
  const isOwn = declarations.length > 0 && declarations.every((one) => packageOf(one) === 'lib');
  return (named ?? declared)?.id ?? (isOwn ? '' : undefined);
}

function union(members: readonly TypeFact[]): TypeFact {
  const nullable = members.some((member) => member.nullable);
  const some = members.filter((member) => !(member.holds === 'nothing' && member.nullable && member.fields === undefined));
  const merged = merge(some);
  return nullable ? { ...merged, nullable: true } : merged;
}

function merge(members: readonly TypeFact[]): TypeFact {
  const first = members[0];
  if (first === undefined) return nothing;
  if (members.length === 1) return first;
  const interesting = members.filter((member) => member.holds !== 'nothing');
  const plain = interesting[0];
  const promise = members.some((member) => member.promise);
  const classOf = members.find((member) => member.class !== undefined);
  if (plain === undefined) return { ...(classOf ?? members.find((member) => member.callable) ?? first), ...(promise ? { promise } : {}) };
  if (interesting.length === 1 || interesting.every((member) => member.holds === plain.holds && member.name === plain.name)) return plain;
  if (interesting.every((member) => member.holds === 'array')) return { ...plain };
  if (interesting.every((member) => member.holds === 'unknown')) return unknownType;
  const library = interesting.find((member) => member.library !== undefined)?.library;
  const elements = interesting
    .map((member) => member.element ?? (member.holds === 'array' ? member : undefined))
    .find((member) => member !== undefined);
  return {
    holds: 'tree',
    ...(library === undefined ? {} : { library }),
    ...(elements === undefined ? {} : { element: elements }),
    ...(promise ? { promise } : {}),
  };
}
