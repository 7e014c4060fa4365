/**
 * Functions of the language that no line of its model describes.
 *
 * Depends on: engine, arrays, state, values.
 */
import { escape } from './arrays.ts';
import { howCalled } from './calls.ts';
import { returned, then, type CallSite, type Engine, type Exit } from './engine.ts';
import { siteOf } from './events.ts';
import type { State } from './state.ts';
import { emptyFields, hostValue, type Value } from './values.ts';

/** Those on plain data look; the others are unknown code. */
export function standardCall(
  engine: Engine,
  state: State,
  name: string,
  receiver: Value | undefined,
  args: readonly Value[],
  site: CallSite,
): readonly Exit[] {
  const pure =
    /^(Math|Console|JSON|Number|String|Boolean|Date|RegExp|performance|Performance|Symbol|BigInt|Intl|Float\d+Array|U?[iI]nt\d+(Clamped)?Array|Uint8ClampedArray|ArrayBuffer|DataView|Object\.(keys|is)|parse|is[NF]|Error|RangeError|TypeError|Document|Element|HTML|Canvas|ImageData|Node|Window|URL|Text|Event)/.test(
      name,
    );
  if (!pure) {
    for (const argument of args) escape(engine, state, argument, site.span);
    // `new Promise((resolve, reject) => …)` runs its function at once, and once only.
    if (name === 'Promise' || name === 'PromiseConstructor') {
      const executor = args[0];
      if (executor?.kind === 'closure')
        return then(
          engine.callValue(
            state,
            executor,
            undefined,
            [
              hostValue(`${siteOf(state, site)}resolve;`, { holds: 'nothing', callable: true }),
              hostValue(`${siteOf(state, site)}reject;`, { holds: 'nothing', callable: true }),
            ],
            { ...site, type: { holds: 'nothing' } },
          ),
          (next) => returned(next, hostValue(`${siteOf(next, site)};`, site.type)),
        );
    }
    for (const argument of args) engine.later(state, argument, site.span, howCalled(state, site.event, args));
  } else for (const argument of args) engine.later(state, argument, site.span, howCalled(state, site.event, args));
  if (/^(Map|Set|WeakMap|WeakSet|Array)$/.test(name)) {
    const source = args[0] === undefined ? undefined : state.node(args[0]);
    const isMap = name.endsWith('Map') || name.endsWith('Set');
    const pool = name === 'Array' || source === undefined ? [] : [...source.fields.values(), ...source.pool];
    return returned(
      state,
      state.allocate(
        siteOf(state, site),
        {
          shape: isMap ? 'map' : 'list',
          fields: emptyFields,
          pool,
          open: false,
          many: false,
          type: site.type,
          ...(state.tracing > 0 ? { traced: true } : {}),
        },
        engine.dropped(state),
      ),
    );
  }
  const type = site.type;
  return returned(
    state,
    type.holds === 'nothing' || type.holds === 'unknown'
      ? hostValue(`${siteOf(state, site)};`, type)
      : engine.unknown(state, { ...type, nullable: false }, siteOf(state, site), 'caller', site.span),
  );
}
