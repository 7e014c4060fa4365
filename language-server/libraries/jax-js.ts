/**
 * jax-js, and our runtime under its ownership: operations, readers and transformations consume; `.ref` takes one more.
 *
 * Metadata and `blockUntilReady` don't consume. A function compiled by `jit` holds what it captured until disposed.
 * Depends on: model.
 */
import type { Call, LibraryModel } from './model.ts';

const consumesAll: Call = { arguments: { receiver: 'consumes', rest: 'consumes' }, result: 'creates' };
const reader: Call = { arguments: { receiver: 'consumes' }, result: 'host', reader: true };
const laterReader: Call = { arguments: { receiver: 'consumes' }, result: { settles: 'host' }, reader: true };
const transform = (how: 'grad' | 'valueAndGrad' | 'vmap' | 'other'): Call => ({
  result: 'unknown',
  role: { kind: 'transforms', how, function: 0 },
});
const inspects: Call = { arguments: { receiver: 'inspects', rest: 'inspects' }, result: 'host' };

export const jaxJs: LibraryModel = {
  id: 'jax-js',
  modules: ['@jax-js/jax', '@jax-js/optax', '@jax-js/loaders', 'tidemark/jax-js'],
  aliases: {
    np: 'numpy',
    Tracer: 'Array',
    numpy_d_exports: 'numpy',
    lax_d_exports: 'lax',
    nn_d_exports: 'nn',
    random_d_exports: 'random',
    tree_d_exports: 'tree',
  },
  arrays: ['Array', 'Tracer', 'ClosedJaxpr'],
  owners: [],
  convention: 'consumes',
  free: ['dispose'],
  freeTwice: false,
  metadata: ['shape', 'dtype', 'ndim', 'size', 'refCount', 'device', 'aval', 'weakType', 'toString', 'nbytes', 'isDisposed', 'committed'],
  retain: 'ref',
  noun: 'array',
  copy: 'ref',
  granule: 256,
  calls: {
    jit: { result: 'unknown', role: { kind: 'compiles', function: 0, options: 1, caches: true } },
    grad: transform('grad'),
    valueAndGrad: transform('valueAndGrad'),
    vmap: transform('vmap'),
    hessian: transform('other'),
    jacfwd: transform('other'),
    jacrev: transform('other'),
    jacobian: transform('other'),
    makeJaxpr: transform('other'),
    jvp: { role: { kind: 'traces', function: 0 }, arguments: { rest: 'consumes' }, result: 'creates' },
    vjp: { role: { kind: 'traces', function: 0 }, arguments: { rest: 'consumes' }, result: 'creates' },
    linearize: { role: { kind: 'traces', function: 0 }, arguments: { rest: 'consumes' }, result: 'creates' },
    init: { result: { settles: 'host' } },
    defaultDevice: { result: 'host' },
    devices: { result: 'host' },
    setDebug: { result: 'host' },
    devicePut: { arguments: { rest: 'consumes' }, result: { settles: 'creates' } },
    blockUntilReady: { arguments: { rest: 'inspects' }, result: { settles: { aliases: 0 } } },
    'lax.scan': { role: { kind: 'traces', function: 0 }, arguments: { rest: 'consumes' }, result: 'creates' },
    'lax.foriLoop': { role: { kind: 'traces', function: 2 }, arguments: { rest: 'consumes' }, result: 'creates' },
    'lax.whileLoop': { role: { kind: 'traces', function: 1 }, arguments: { rest: 'consumes' }, result: 'creates' },
    'tree.map': {
      arguments: { rest: 'consumes' },
      role: {
        kind: 'calls',
        callbacks: [
          {
            argument: 0,
            when: 'now',
            times: 'many',
            given: [
              { kind: 'element', of: 1 },
              { kind: 'element', of: 2 },
              { kind: 'element', of: 3 },
            ],
            result: 'collected',
          },
        ],
      },
    },
    'tree.ref': { arguments: { 0: 'inspects' }, role: { kind: 'treeLeaves' }, result: { retains: 0 } },
    'tree.dispose': { arguments: { 0: 'disposes' }, role: { kind: 'treeLeaves' }, result: 'host' },
    'tree.leaves': { arguments: { 0: 'inspects' }, role: { kind: 'collection', does: 'values' }, result: { aliases: 0 } },
    'tree.flatten': { arguments: { 0: 'inspects' }, result: 'unknown' },
    'tree.structure': { arguments: { 0: 'inspects' }, result: 'host' },
    'numpy.split': { ...consumesAll, countOf: 1 },
    'Array.dispose': { arguments: { receiver: 'disposes' }, result: 'host' },
    'Array.js': reader,
    'Array.dataSync': reader,
    'Array.item': reader,
    'Array.itemSync': reader,
    'Array.data': laterReader,
    'Array.jsAsync': laterReader,
    'Array.toString': inspects,
    'Array.blockUntilReady': { arguments: { receiver: 'inspects' }, result: { settles: { aliases: -1 } } },
    'Array.@@iterator': { arguments: { receiver: 'consumes' }, result: 'unknown' },
    'Array.*': consumesAll,
    'numpy.shape': inspects,
    'numpy.ndim': inspects,
    'numpy.size': inspects,
  },
};
