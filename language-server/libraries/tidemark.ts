/**
 * Our own runtime: operations borrow; memory goes by donation, `using`, `scope` and `dispose`.
 *
 * Depends on: model.
 */
import type { Call, LibraryModel } from './model.ts';

const jit: Call = { result: 'unknown', role: { kind: 'compiles', function: 0, options: 1, caches: true } };
const grad = (how: 'grad' | 'valueAndGrad' | 'vmap' | 'checkpoint' | 'other'): Call => ({
  result: 'unknown',
  role: { kind: 'transforms', how, function: 0 },
});
const reader: Call = { arguments: { receiver: 'reads' }, result: { settles: 'host' }, reader: true };
const hostReader: Call = { arguments: { receiver: 'reads' }, result: 'host', reader: true };

export const tidemark: LibraryModel = {
  id: 'tidemark',
  modules: ['tidemark'],
  aliases: { np: 'numpy' },
  arrays: ['Array', 'DeviceArray', 'NdArray', 'Tracer'],
  owners: [],
  convention: 'borrows',
  free: ['dispose', '@@dispose'],
  freeTwice: true,
  metadata: ['shape', 'dtype', 'ndim', 'size', 'nbytes', 'isDisposed', 'device', 'aval', 'weak', 'toString'],
  noun: 'array',
  copy: 'copy',
  scopeName: 'scope',
  granule: 256,
  calls: {
    jit,
    pmap: jit,
    grad: grad('grad'),
    valueAndGrad: grad('valueAndGrad'),
    jacfwd: grad('other'),
    jacrev: grad('other'),
    hessian: grad('other'),
    vmap: grad('vmap'),
    checkpoint: grad('checkpoint'),
    remat: grad('checkpoint'),
    linearize: { role: { kind: 'traces', function: 0 }, result: 'creates' },
    vjp: { role: { kind: 'traces', function: 0 }, result: 'creates' },
    jvp: { role: { kind: 'traces', function: 0 }, result: 'creates' },
    makeJaxpr: grad('other'),
    evalShape: { result: 'host', role: { kind: 'traces', function: 0 } },
    savedResiduals: { result: 'host', role: { kind: 'traces', function: 0 } },
    donate: { arguments: { 0: 'inspects' }, result: { aliases: 0 }, role: { kind: 'donateMark' } },
    scope: { role: { kind: 'scope', async: true } },
    devicePut: { arguments: { 0: 'reads' }, result: 'creates' },
    blockUntilReady: { arguments: { 0: 'reads' }, result: { settles: { aliases: 0 } } },
    init: { result: 'host' },
    'lax.scan': { role: { kind: 'traces', function: 0 }, result: 'creates' },
    'lax.foriLoop': { role: { kind: 'traces', function: 2 }, result: 'creates' },
    'lax.whileLoop': { role: { kind: 'traces', function: 1 }, result: 'creates' },
    'lax.cond': { role: { kind: 'traces', function: 1 }, result: 'creates' },
    'lax.map': { role: { kind: 'traces', function: 0 }, result: 'creates' },
    'lax.stopGradient': { result: 'creates' },
    'tree.map': {
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
    'tree.leaves': { arguments: { 0: 'inspects' }, role: { kind: 'collection', does: 'values' }, result: { aliases: 0 } },
    'tree.flatten': { arguments: { 0: 'inspects' }, result: 'unknown' },
    'tree.dispose': { arguments: { 0: 'disposes' }, role: { kind: 'treeLeaves' }, result: 'host' },
    'memory.stats': { result: 'host' },
    'memory.liveArrays': { result: 'host' },
    'memory.resetPeak': { result: 'host' },
    'memory.measure': { role: { kind: 'calls', callbacks: [{ argument: 0, when: 'now', times: 'once', given: [], result: 'returned' }] } },
    'Array.dispose': { arguments: { receiver: 'disposes' }, result: 'host' },
    'Array.@@dispose': { arguments: { receiver: 'disposes' }, result: 'host' },
    'Array.data': reader,
    'Array.item': reader,
    'Array.jsAsync': reader,
    'Array.js': hostReader,
    'Array.dataSync': hostReader,
    'Array.itemSync': hostReader,
    'Array.toString': { arguments: { receiver: 'inspects' }, result: 'host' },
    'Array.blockUntilReady': { arguments: { receiver: 'reads' }, result: { settles: { aliases: -1 } } },
    'Jitted.lower': { arguments: { rest: 'inspects' }, result: 'host', role: { kind: 'plansOnly' } },
    'Jitted.dispose': { arguments: { receiver: 'inspects' }, result: 'host' },
  },
};
