/**
 * Calls of what `jit`, `pmap`, `vmap`, `grad` and their kin made: donation, consumption, and one look at the traced body.
 *
 * The body runs once per place with traced stand-ins, in a copy of the state: what it does wrong is reported, what it
 * makes never leaks. The result is new and the caller's. Depends on: engine, arrays, state, values.
 */
import type { Span, TypeFact } from '../lower/ir.ts';
import { consumes, deadAmong, kill, leaves, modelOf, named, read } from './arrays.ts';
import { libraryOf, make } from './making.ts';
import { returned, type CallSite, type Engine, type Exit } from './engine.ts';
import type { Place } from './events.ts';
import { compiledKey } from './references.ts';
import { State } from './state.ts';
import { hostValue, type ObjectId, type Value } from './values.ts';

type Compiled = Extract<Value, { kind: 'compiled' }>;

/** Positions that the options of a `jit` give away, and its static ones. */
export function optionsOf(
  engine: Engine,
  state: State,
  options: Value | undefined,
  target: Value,
): { readonly donates: readonly number[]; readonly statics: readonly number[] } {
  const node = state.node(options);
  if (node === undefined) return { donates: [], statics: [] };
  const numbers = (value: Value | undefined): readonly number[] => {
    if (value?.kind === 'literal') return typeof value.value === 'number' ? [value.value] : [];
    return [...(state.node(value)?.fields.values() ?? [])].flatMap((member) =>
      member.kind === 'literal' && typeof member.value === 'number' ? [member.value] : [],
    );
  };
  const names = (value: Value | undefined): readonly string[] => {
    if (value?.kind === 'literal') return typeof value.value === 'string' ? [value.value] : [];
    return [...(state.node(value)?.fields.values() ?? [])].flatMap((member) =>
      member.kind === 'literal' && typeof member.value === 'string' ? [member.value] : [],
    );
  };
  const parameters = parametersOf(engine, target);
  const byName = names(node.fields.get('donateArgnames')).flatMap((name) => {
    const position = parameters.indexOf(name);
    return position < 0 ? [] : [position];
  });
  const donates = [...numbers(node.fields.get('donateArgnums')), ...byName].map((position) =>
    position < 0 ? parameters.length + position : position,
  );
  return { donates: [...new Set(donates)], statics: numbers(node.fields.get('staticArgnums')) };
}

function parametersOf(engine: Engine, target: Value): readonly (string | undefined)[] {
  if (target.kind === 'closure') return engine.project.function(target.function)?.parameters.map((p) => p.name) ?? [];
  return target.kind === 'compiled' ? parametersOf(engine, target.of) : [];
}

export function compiledValue(
  of: Value,
  how: Compiled['how'],
  library: string,
  jit: Span,
  donates: readonly number[],
  statics: readonly number[],
  ranIn: string,
): Value {
  return { kind: 'compiled', of, how, library, jit, donates, statics, ranIn, key: compiledKey(of, jit) };
}

/** The function at the bottom of `jit(grad(f))`. */
export function bottom(value: Value): Value {
  return value.kind === 'compiled' ? bottom(value.of) : value;
}

function donatedBy(value: Compiled): ReadonlySet<number> {
  const inner = value.of.kind === 'compiled' && value.how === 'vmap' ? donatedBy(value.of) : new Set<number>();
  return new Set([...value.donates, ...inner]);
}

const isJit = (value: Value): boolean => value.kind === 'compiled' && (value.how === 'jit' || value.how === 'pmap' || isJit(value.of));

export function compiledCall(
  engine: Engine,
  state: State,
  callee: Compiled,
  args: readonly Value[],
  site: CallSite,
  place: Place,
): readonly Exit[] {
  const spans = site.event?.arguments.map((a) => a.span) ?? [];
  const spanOf = (i: number): Span => spans[i] ?? site.span;
  const inTrace = state.tracing > 0;
  const donates = inTrace ? new Set<number>() : donatedBy(callee);
  const consuming = consumes(engine, callee.library);
  const marked = args.map((value) => value.kind === 'marked');
  if (!inTrace)
    checkTwice(
      engine,
      state,
      args,
      (i) => donates.has(i) || marked[i] === true,
      (i) => nameOfArgument(engine, state, args[i]!, i),
      site,
      spanOf,
    );
  trace(engine, state, callee, args, site);
  const watch =
    inTrace || engine.collector.muted > 0 ? undefined : register(engine, state, callee, args, donates, marked, site, spanOf, place);
  const before = deadAmong(state, args);
  args.forEach((value, i) => {
    if (donates.has(i) || marked[i] || (consuming && !callee.statics.includes(i))) return;
    read(engine, state, value, { span: spanOf(i), call: site.span, before, use: 'read' });
  });
  args.forEach((value, i) => {
    const gives = donates.has(i) || marked[i] === true;
    if (gives) kill(engine, state, value, 'donated', { span: spanOf(i), call: site.span, before, use: 'donate' });
    else if (consuming && !callee.statics.includes(i))
      kill(engine, state, value, 'consumed', { span: spanOf(i), call: site.span, before, use: 'consume' });
    else if (watch !== undefined)
      leaves(state, value, (id, node, life) => {
        if (!life.dead && !life.traced)
          state.put(id, { ...node, life: { ...life, watches: [...new Set([...life.watches, `${watch}#${i}`])] } });
      });
  });
  return returned(state, resultOf(engine, state, callee, args, site));
}

/** One buffer at two places of one call, at least once given away. */
function checkTwice(
  engine: Engine,
  state: State,
  args: readonly Value[],
  gives: (i: number) => boolean,
  nameOf: (i: number) => string,
  site: CallSite,
  spanOf: (i: number) => Span,
): void {
  const first = new Map<ObjectId, { readonly i: number; readonly path: string }>();
  args.forEach((value, i) => {
    paths(state, value, nameOf(i), (id, path) => {
      const before = first.get(id);
      if (before === undefined) {
        first.set(id, { i, path });
        return;
      }
      if (!gives(before.i) && !gives(i)) return;
      const node = state.get(id)!;
      if (node.life!.dead || node.life!.escaped || node.many) return;
      engine.collector.see(
        {
          kind: 'sameBufferTwice',
          span: spanOf(i),
          function: state.frame.fn.id,
          array: named(node.life!),
          first: spanOf(before.i),
          second: spanOf(i),
          paths: [before.path, path],
          both: gives(before.i) && gives(i),
        },
        state.frame.context,
      );
    });
  });
  for (const i of args.keys()) if (gives(i)) engine.collector.pass(spanOf(i), `${state.frame.context} twice`);
  void site;
}

function paths(state: State, value: Value, path: string, visit: (id: ObjectId, path: string) => void, depth = 6): void {
  if (value.kind === 'marked') return paths(state, value.of, path, visit, depth);
  if (value.kind !== 'object' || depth === 0) return;
  const node = state.get(value.id);
  if (node === undefined) return;
  if (node.shape === 'array') return visit(value.id, path);
  if (node.shape === 'environment') return;
  for (const [name, member] of node.fields)
    paths(state, member, /^\d+$/.test(name) ? `${path}[${name}]` : `${path}.${name}`, visit, depth - 1);
}

function nameOfArgument(engine: Engine, state: State, value: Value, i: number): string {
  void engine;
  const life = state.node(value)?.life;
  return life?.name ?? `argument ${i}`;
}

function register(
  engine: Engine,
  state: State,
  callee: Compiled,
  args: readonly Value[],
  donates: ReadonlySet<number>,
  marked: readonly boolean[],
  site: CallSite,
  spanOf: (i: number) => Span,
  place: Place,
): string | undefined {
  if (!isJit(callee)) return undefined;
  const target = bottom(callee);
  return engine.collector.call(
    {
      span: site.span,
      nameSpan: site.nameSpan,
      function: state.frame.fn.id,
      name: '',
      library: callee.library,
      how: callee.how === 'valueAndGrad' ? 'grad' : callee.how === 'checkpoint' ? 'other' : callee.how,
      jit: callee.jit,
      donateArgnums: [...donates],
      staticArgnums: callee.statics,
      inLoop: place.inLoop,
      ...(target.kind === 'closure' ? { target: target.function } : {}),
    },
    args.map((value, position) => {
      let arrays = false;
      let owner: 'here' | 'caller' | 'field' = 'here';
      leaves(state, value, (_, __, life) => {
        arrays = true;
        if (life.origin === 'caller') owner = 'caller';
        else if (life.origin === 'field' && owner === 'here') owner = 'field';
      });
      const name = state.node(value)?.life?.name;
      return {
        position,
        span: spanOf(position),
        arrays,
        owner,
        donated: marked[position] ? ('mark' as const) : donates.has(position) ? ('options' as const) : undefined,
        ...(name === undefined ? {} : { name }),
      };
    }),
  );
}

/** Looks at the traced body once per compiled function and run. */
export function trace(engine: Engine, state: State, callee: Compiled, args: readonly Value[], site: CallSite): void {
  const key = `trace ${callee.key}`;
  if (state.laterDone.has(key)) return;
  state.laterDone.add(key);
  const target = bottom(callee);
  if (target.kind !== 'closure') return;
  const fn = engine.project.function(target.function);
  if (fn === undefined) return;
  const dry = state.fork();
  dry.tracing++;
  const before = engine.collector.tracingJit;
  engine.collector.tracingJit = callee.jit;
  const stand = fn.parameters.map((p, i) =>
    tracer(
      engine,
      dry,
      args[i],
      fn.locals[p.local]?.type ?? { holds: 'unknown' },
      `${callee.jit.start}:${state.frame.context} arg${i}`,
      p.name,
    ),
  );
  engine.callFunction(dry, fn, target.environment, target.self, stand, { ...site, tag: ' traced' });
  engine.collector.tracingJit = before;
}

function tracer(engine: Engine, state: State, value: Value | undefined, type: TypeFact, site: string, name: string | undefined): Value {
  if (type.holds === 'nothing' || (type.holds === 'unknown' && state.node(value)?.life === undefined))
    return value === undefined || state.node(value) !== undefined ? hostValue(`${site};`, type) : value;
  return make(
    {
      walk: engine,
      state,
      site,
      span: undefined,
      origin: 'caller',
      function: state.frame.fn.id,
      traced: true,
      dropped: () => undefined,
      ...(name === undefined ? {} : { name }),
    },
    type.holds === 'unknown' ? (state.node(value)?.type ?? type) : { ...type, nullable: false },
  );
}

function resultOf(engine: Engine, state: State, callee: Compiled, args: readonly Value[], site: CallSite): Value {
  const id = `${state.frame.context}:${site.span.start}-${site.span.end}${site.tag ?? ''}`;
  const making = {
    walk: engine,
    state,
    site: id,
    span: site.span,
    origin: 'here' as const,
    function: state.frame.fn.id,
    dropped: engine.dropped(state),
  };
  if (site.type.holds === 'array' || (site.type.holds === 'tree' && (site.type.fields !== undefined || site.type.element !== undefined)))
    return make(making, { ...site.type, nullable: false });
  const target = bottom(callee);
  const fn = target.kind === 'closure' ? engine.project.function(target.function) : undefined;
  void fn;
  void args;
  if (site.type.holds === 'unknown' || site.type.holds === 'tree')
    return make(making, { holds: 'tree', library: libraryOf(site.type) ?? callee.library });
  void modelOf;
  return hostValue(`${id};`, site.type);
}
