/**
 * The language's own functions: what forwards, stores, takes out and calls back.
 *
 * Whatever isn't listed reads its arguments and yields host data. Depends on: model.
 */
import type { Call, Callback, LibraryModel } from './model.ts';

const over = (result: Callback['result'], extra: Partial<Callback> = {}): Call => ({
  arguments: { receiver: 'inspects' },
  role: {
    kind: 'calls',
    callbacks: [
      {
        argument: 0,
        when: 'now',
        times: 'many',
        given: [{ kind: 'element', of: -1 }, { kind: 'index' }, { kind: 'whole', of: -1 }],
        result,
        ...extra,
      },
    ],
  },
});
const folds: Call = {
  arguments: { receiver: 'inspects' },
  role: {
    kind: 'calls',
    callbacks: [
      {
        argument: 0,
        when: 'now',
        times: 'many',
        given: [{ kind: 'accumulator', initial: 1 }, { kind: 'element', of: -1 }, { kind: 'index' }],
        result: 'accumulated',
      },
    ],
  },
};
const collection = (
  does: 'add' | 'addPair' | 'take' | 'look' | 'copy' | 'concat' | 'clear' | 'remove' | 'values' | 'entries' | 'keys' | 'replace',
): Call => ({ arguments: { receiver: 'inspects' }, role: { kind: 'collection', does } });
const later: Call = {
  arguments: { rest: 'inspects' },
  result: 'host',
  role: { kind: 'calls', callbacks: [{ argument: 0, when: 'later', times: 'many', given: [], result: 'dropped' }] },
};
const settles = (argument: number): Callback => ({
  argument,
  when: 'later',
  times: 'once',
  given: [{ kind: 'settled', of: -1 }],
  result: 'settles',
});

/** Functions and methods that call what they are given again and again, under the names that event sources give them. */
export const listeners: ReadonlySet<string> = new Set(
  'on addListener addEventListener subscribe watch watchEffect useCallback setInterval onMessage onRequest onmessage'.split(' '),
);

/** Hooks that run their function again when one of the values in the list behind it changed; never, when that is empty. */
export const effects: ReadonlySet<string> = new Set('useEffect useLayoutEffect useInsertionEffect'.split(' '));

/** Methods of servers that register a handler for a path. */
export const routes: ReadonlySet<string> = new Set('get post put patch delete all use route'.split(' '));

/** Cells that frameworks keep between renders, and the field that holds the value. */
export const cells: Readonly<Record<string, string>> = {
  useRef: 'current',
  createRef: 'current',
  ref: 'value',
  shallowRef: 'value',
  signal: 'value',
  useSignal: 'value',
};

export const standard: LibraryModel = {
  id: 'standard',
  modules: ['lib'],
  arrays: [],
  owners: [],
  convention: 'borrows',
  free: [],
  freeTwice: true,
  metadata: [],
  noun: 'array',
  calls: {
    'Array.map': over('collected'),
    'Array.flatMap': over('flattened'),
    'Array.forEach': over('dropped'),
    'Array.filter': over('filter'),
    'Array.find': over('find'),
    'Array.findLast': over('find'),
    'Array.some': over('dropped'),
    'Array.every': over('dropped'),
    'Array.findIndex': over('dropped'),
    'Array.reduce': folds,
    'Array.reduceRight': folds,
    'Array.sort': collection('look'),
    'Array.toSorted': collection('copy'),
    'Array.reverse': collection('look'),
    'Array.toReversed': collection('copy'),
    'Array.push': collection('add'),
    'Array.unshift': collection('add'),
    'Array.pop': collection('take'),
    'Array.shift': collection('take'),
    'Array.splice': collection('remove'),
    'Array.at': collection('look'),
    'Array.slice': collection('copy'),
    'Array.concat': collection('concat'),
    'Array.values': collection('values'),
    'Array.entries': collection('entries'),
    'Array.keys': collection('keys'),
    'Array.fill': collection('addPair'),
    'Array.flat': collection('copy'),
    'Array.with': collection('copy'),
    'Array.toSpliced': collection('copy'),
    'ReadonlyArray.map': over('collected'),
    'ReadonlyArray.flatMap': over('flattened'),
    'ReadonlyArray.forEach': over('dropped'),
    'ReadonlyArray.filter': over('filter'),
    'ReadonlyArray.find': over('find'),
    'ReadonlyArray.some': over('dropped'),
    'ReadonlyArray.every': over('dropped'),
    'ReadonlyArray.reduce': folds,
    'ReadonlyArray.slice': collection('copy'),
    'ReadonlyArray.at': collection('look'),
    'ReadonlyArray.concat': collection('concat'),
    'ReadonlyArray.values': collection('values'),
    'ReadonlyArray.entries': collection('entries'),
    'ReadonlyArray.keys': collection('keys'),
    'ArrayConstructor.from': { role: { kind: 'collection', does: 'copy' } },
    'ArrayConstructor.of': { role: { kind: 'collection', does: 'concat' } },
    'ArrayConstructor.isArray': { arguments: { rest: 'inspects' }, result: 'host' },
    'Map.set': collection('addPair'),
    'Map.get': collection('look'),
    'Map.has': collection('keys'),
    'Map.delete': collection('remove'),
    'Map.clear': collection('clear'),
    'Map.values': collection('values'),
    'Map.entries': collection('entries'),
    'Map.keys': collection('keys'),
    'Map.forEach': over('dropped'),
    'WeakMap.set': collection('addPair'),
    'WeakMap.get': collection('look'),
    'WeakMap.has': collection('keys'),
    'WeakMap.delete': collection('remove'),
    'Set.add': collection('add'),
    'Set.has': collection('keys'),
    'Set.delete': collection('remove'),
    'Set.clear': collection('clear'),
    'Set.values': collection('values'),
    'Set.forEach': over('dropped'),
    'ObjectConstructor.values': { arguments: { 0: 'inspects' }, role: { kind: 'collection', does: 'values' } },
    'ObjectConstructor.entries': { arguments: { 0: 'inspects' }, role: { kind: 'collection', does: 'entries' } },
    'ObjectConstructor.keys': { arguments: { 0: 'inspects' }, role: { kind: 'collection', does: 'keys' } },
    'ObjectConstructor.fromEntries': { role: { kind: 'collection', does: 'copy' } },
    'ObjectConstructor.freeze': { result: { aliases: 0 } },
    'ObjectConstructor.assign': { result: 'unknown', arguments: { rest: 'stores' } },
    'PromiseConstructor.all': { role: { kind: 'collection', does: 'copy' }, result: { settles: { aliases: 0 } } },
    'PromiseConstructor.allSettled': { role: { kind: 'collection', does: 'copy' }, result: { settles: { aliases: 0 } } },
    'PromiseConstructor.race': { arguments: { rest: 'stores' }, result: 'unknown' },
    'PromiseConstructor.resolve': { result: { settles: { aliases: 0 } } },
    'PromiseConstructor.reject': { result: 'host', note: 'throws' },
    'Promise.then': {
      arguments: { receiver: 'inspects' },
      role: { kind: 'calls', callbacks: [settles(0), { ...settles(1), given: [{ kind: 'unknown' }] }] },
    },
    'Promise.catch': {
      arguments: { receiver: 'inspects' },
      role: { kind: 'calls', callbacks: [{ ...settles(0), given: [{ kind: 'unknown' }] }] },
    },
    'Promise.finally': { arguments: { receiver: 'inspects' }, role: { kind: 'calls', callbacks: [{ ...settles(0), given: [] }] } },
    requestAnimationFrame: later,
    setTimeout: later,
    setInterval: later,
    setImmediate: later,
    queueMicrotask: later,
    requestIdleCallback: later,
    structuredClone: { arguments: { rest: 'inspects' }, result: 'host' },
    'Console.*': { arguments: { rest: 'inspects' }, result: 'host' },
    'Iterator.next': collection('look'),
  },
};
