/**
 * Makes values of types: an array, a tree with its arrays, a member of a tree that nobody asked for before, host data.
 *
 * Depends on: arrays, state, values.
 */
import { inTable, type FunctionId, type LocalFact, type Span, type TypeFact } from '../lower/ir.ts';
import { modelOf, setLife, type Walk } from './arrays.ts';
import type { State } from './state.ts';
import { emptyFields, hostValue, type Life, type Node, type ObjectId, type Value } from './values.ts';

export interface Making {
  readonly walk: Walk;
  readonly state: State;
  /** Names the place and its call context. */
  readonly site: string;
  readonly span: Span | undefined;
  readonly origin: Life['origin'];
  readonly function: FunctionId;
  readonly escaped?: boolean;
  readonly traced?: boolean;
  readonly name?: string;
  readonly passed?: Life['passed'];
  readonly dropped: (id: ObjectId, node: Node) => void;
  /** Makes instances of the project's classes opaque too. */
  readonly depth?: number;
  readonly count?: number;
}

export function newLife(making: Making, library: string, owner: boolean, typeName: string | undefined): Life {
  const { state } = making;
  const unscoped = typeName !== undefined && (modelOf(making.walk, library).unscoped ?? []).includes(typeName);
  return {
    library,
    dead: false,
    refs: 1,
    origin: making.origin,
    escaped: making.escaped ?? false,
    scope: making.origin === 'here' && !unscoped ? state.scopes.length : 0,
    traced: making.traced ?? state.tracing > 0,
    owner,
    watches: [],
    function: making.function,
    ...(making.span === undefined ? {} : { made: making.span }),
    ...(making.name === undefined ? {} : { name: making.name }),
    ...(making.passed === undefined ? {} : { passed: making.passed }),
    ...(typeName === undefined ? {} : { typeName }),
  };
}

/** A value of a type: an array, a tree with its arrays, or host data. */
export function make(making: Making, type: TypeFact): Value {
  const { state, site } = making;
  if (type.promise) {
    const inner: Value = make({ ...making, site: `${site}!` }, { ...type, promise: false });
    return state.allocate(
      site,
      {
        shape: 'promise',
        fields: new Map([['value', inner]]),
        pool: [],
        open: false,
        many: false,
        type,
        ...(state.tracing > 0 ? { traced: true } : {}),
      },
      making.dropped,
    );
  }
  if (type.callable && type.holds === 'nothing') return hostValue(`${site};`, type);
  const depth = making.depth ?? 0;
  switch (type.holds) {
    case 'array':
    case 'owner':
      return state.allocate(
        site,
        {
          shape: 'array',
          fields: emptyFields,
          pool: [],
          open: false,
          many: false,
          type,
          life: newLife(making, type.library ?? 'tidemark', type.holds === 'owner', type.name),
        },
        making.dropped,
      );
    case 'tree': {
      const fields = type.fields;
      if (fields !== undefined && type.element === undefined && depth < 4) {
        const members = new Map<string, Value>();
        const node: Node = {
          shape: type.class === undefined ? 'object' : 'instance',
          fields: emptyFields,
          pool: [],
          open: type.class !== undefined,
          many: false,
          type,
          ...(type.class === undefined ? {} : { class: type.class }),
          ...(making.span === undefined ? {} : { made: making.span }),
          ...(state.tracing > 0 ? { traced: true } : {}),
          ...(making.escaped || (type.class !== undefined && making.origin !== 'here') ? { escaped: true } : {}),
        };
        const value = state.allocate(site, node, making.dropped);
        if (type.class === undefined)
          for (const [name, member] of Object.entries(fields))
            if (!member.nullable)
              members.set(
                name,
                make(
                  {
                    ...making,
                    site: `${site}.${name}`,
                    depth: depth + 1,
                    ...(making.name === undefined ? {} : { name: `${making.name}.${name}` }),
                  },
                  member,
                ),
              );
        if (value.kind === 'object')
          state.change(value.id, {
            fields: members,
            open: type.class !== undefined || Object.values(fields).some((member) => member.nullable),
          });
        return value;
      }
      const library = libraryOf(type) ?? 'tidemark';
      return state.allocate(
        site,
        {
          shape: isList(type) ? 'list' : 'tree',
          fields: emptyFields,
          pool: [],
          open: true,
          many: false,
          type,
          life: newLife(making, library, false, type.name),
          ...(making.count === undefined ? {} : { count: making.count }),
        },
        making.dropped,
      );
    }
    case 'nothing':
      if (type.class !== undefined && depth < 4)
        return state.allocate(
          site,
          { shape: 'instance', fields: emptyFields, pool: [], open: true, many: false, type, class: type.class, escaped: true },
          making.dropped,
        );
      return hostValue(`${site};`, type);
    case 'unknown':
      return hostValue(`${site};`, type);
  }
}

export function libraryOf(type: TypeFact | undefined, depth = 4): string | undefined {
  if (type === undefined || depth === 0) return undefined;
  if (type.library !== undefined) return type.library;
  for (const member of Object.values(type.fields ?? {})) {
    const found = libraryOf(member, depth - 1);
    if (found !== undefined) return found;
  }
  return libraryOf(type.element, depth - 1) ?? libraryOf(type.result, depth - 1);
}

/** A member of an open object that nobody asked for before: it lives and dies with its tree. */
export function openMember(
  walk: Walk,
  state: State,
  id: ObjectId,
  node: Node,
  name: string,
  type: TypeFact | undefined,
  dropped: (id: ObjectId, node: Node) => void,
): Value {
  const before = state.get(id)?.fields.get(name);
  if (before !== undefined) return before;
  const memberType = (type !== undefined && type.holds !== 'unknown' ? type : undefined) ??
    inTable(node.type.fields, name) ??
    node.type.element ??
    type ?? { holds: 'unknown' as const };
  if (memberType.holds === 'nothing' && memberType.class === undefined) return hostValue(`${id}.${name};`, memberType);
  const life = node.life;
  const site = `${id}.${name}`;
  const making: Making = {
    walk,
    state,
    site,
    span: life?.made,
    origin: life?.origin ?? 'caller',
    function: state.frame.fn.id,
    escaped: life?.escaped ?? false,
    dropped,
    ...(life?.traced || node.traced ? { traced: true } : {}),
    ...(life?.name === undefined ? {} : { name: /^\d+$|^\[/.test(name) ? life.name : `${life.name}.${name}` }),
  };
  const value = make({ ...making, depth: 2 }, { ...memberType, nullable: false });
  // A member of unknown type may be an array, and be freed by what is called on it.
  if (value.kind === 'host' && memberType.holds === 'unknown' && life !== undefined && !life.escaped)
    setLife(state, id, { escaped: true, shared: 'a tree with members of unknown type' });
  const inner = state.node(value);
  if (value.kind === 'object' && inner?.life !== undefined) {
    state.put(value.id, {
      ...inner,
      life: {
        ...inner.life,
        ...(life === undefined
          ? { origin: 'caller' as const }
          : {
              dead: life.dead,
              ...(life.misused === true ? { misused: true } : {}),
              ...(life.death === undefined ? {} : { death: life.death }),
              ...(life.diedAt === undefined ? {} : { diedAt: life.diedAt }),
              part: id,
              scope: life.scope,
              refs: life.refs,
              watches: life.watches,
            }),
      },
    });
  }
  state.setField(id, name, value);
  return value;
}

/** A named local receives a value: the array takes its name. */
export function name(state: State, value: Value, fact: LocalFact): void {
  if (value.kind !== 'object' || fact.name === undefined || fact.kind === 'this') return;
  const node = state.get(value.id);
  if (node?.life === undefined || node.life.name !== undefined) return;
  state.put(value.id, { ...node, life: { ...node.life, name: fact.name, ...(fact.span === undefined ? {} : { declaration: fact.span }) } });
}

const isList = (type: TypeFact): boolean => type.name !== undefined && /Array$|^Set$|^ReadonlySet$/.test(type.name);
