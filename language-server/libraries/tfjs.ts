/**
 * TensorFlow.js and its relatives: operations borrow; tensors go by `dispose` and `tidy`, the collector never frees them.
 *
 * Facts behind single lines: `variable(t)` doesn't take over `t`; `assign(t)` frees the old value, not `t`; `fit`,
 * `predict` and `evaluate` never dispose their inputs; disposing twice is a no-op; `tidy` frees neither variables nor
 * kept tensors. Depends on: model.
 */
import type { Call, LibraryModel } from './model.ts';

const reader: Call = { arguments: { receiver: 'reads' }, result: { settles: 'host' }, reader: true };
const hostReader: Call = { arguments: { receiver: 'reads' }, result: 'host', reader: true };
const frees: Call = { arguments: { receiver: 'disposes' }, result: 'host' };
const owner: Call = { arguments: { rest: 'reads' }, result: 'creates' };
const loads: Call = { arguments: { rest: 'reads' }, result: { settles: 'creates' } };
const runs: Call = { arguments: { receiver: 'reads', rest: 'reads' }, result: { settles: 'host' }, readsUntilSettled: true };
const host: Call = { arguments: { rest: 'inspects' }, result: 'host' };

export const tfjs: LibraryModel = {
  id: 'tfjs',
  modules: ['@tensorflow/tfjs', '@tensorflow/tfjs-core', '@tensorflow/tfjs-node', '@tensorflow/tfjs-node-gpu', '@tensorflow/tfjs-layers', '@tensorflow/tfjs-converter', '@tensorflow/tfjs-data', '@tensorflow/tfjs-backend-*', '@tensorflow/tfjs-automl', '@tensorflow-models/*'],
  arrays: ['Tensor', 'Variable'],
  owners: ['LayersModel', 'Sequential', 'GraphModel', 'Optimizer', 'SGDOptimizer', 'MomentumOptimizer', 'AdamOptimizer', 'AdamaxOptimizer', 'AdagradOptimizer', 'AdadeltaOptimizer', 'RMSPropOptimizer', 'ObjectDetection', 'MobileNet', 'BodyPix', 'PoseNet', 'FaceLandmarksDetector', 'HandPose', 'UniversalSentenceEncoder', 'ToxicityClassifier', 'KNNClassifier', 'SpeechCommandRecognizer', 'SemanticSegmentation'],
  convention: 'borrows',
  free: ['dispose'],
  freeTwice: true,
  metadata: ['shape', 'dtype', 'rank', 'size', 'id', 'isDisposed', 'kept', 'strides', 'rankType', 'trainable', 'name', 'dataId', 'scopeId', 'isDisposedInternal'],
  shares: ['inputs', 'outputs', 'input', 'output', 'layers', 'weights', 'trainableWeights'],
  unscoped: ['Variable', 'LayersModel', 'Sequential', 'GraphModel', 'SGDOptimizer', 'AdamOptimizer', 'Optimizer'],
  noun: 'tensor',
  copy: 'clone',
  scopeName: 'tidy',
  calls: {
    tidy: { role: { kind: 'scope', async: false } },
    keep: { arguments: { 0: 'keeps' }, result: { aliases: 0 } },
    dispose: { arguments: { 0: 'disposes' }, role: { kind: 'treeLeaves' }, result: 'host' },
    variable: { arguments: { rest: 'reads' }, result: 'creates', note: 'kept' },
    memory: host, nextFrame: { result: { settles: 'host' } }, ready: { result: { settles: 'host' } }, setBackend: { result: { settles: 'host' } }, getBackend: host, enableProdMode: host, env: host, engine: { result: 'unknown' }, backend: host, disposeVariables: host, time: { result: { settles: 'host' }, role: { kind: 'calls', callbacks: [{ argument: 0, when: 'now', times: 'once', given: [], result: 'dropped' }] } },
    profile: { result: { settles: 'unknown' }, role: { kind: 'calls', callbacks: [{ argument: 0, when: 'now', times: 'once', given: [], result: 'dropped' }] } },
    print: { arguments: { 0: 'reads' }, result: 'host' },
    grad: { result: 'unknown', role: { kind: 'transforms', how: 'grad', function: 0 } },
    grads: { result: 'unknown', role: { kind: 'transforms', how: 'other', function: 0 } },
    valueAndGrad: { result: 'unknown', role: { kind: 'transforms', how: 'other', function: 0 } },
    valueAndGrads: { result: 'unknown', role: { kind: 'transforms', how: 'other', function: 0 } },
    customGrad: { result: 'unknown', role: { kind: 'transforms', how: 'other', function: 0 } },
    variableGrads: { role: { kind: 'traces', function: 0 }, arguments: { rest: 'reads' }, result: 'creates' },
    loadLayersModel: loads, loadGraphModel: loads,
    sequential: owner, model: owner, 'browser.fromPixels': { arguments: { rest: 'reads' }, result: 'creates' },
    'browser.fromPixelsAsync': { arguments: { rest: 'reads' }, result: { settles: 'creates' } },
    'browser.toPixels': { arguments: { 0: 'reads' }, result: { settles: 'host' }, readsUntilSettled: true },
    'browser.draw': { arguments: { 0: 'reads' }, result: 'host' },
    'train.*': owner, 'io.*': { result: 'host', arguments: { rest: 'stores' } },
    'layers.*': { arguments: { rest: 'stores' }, result: 'host' },
    'data.*': { arguments: { rest: 'stores' }, result: 'host' },
    'metrics.*': { arguments: { rest: 'reads' }, result: 'creates' },
    whereAsync: { arguments: { rest: 'reads' }, result: { settles: 'creates' }, readsUntilSettled: true },
    booleanMaskAsync: { arguments: { rest: 'reads' }, result: { settles: 'creates' }, readsUntilSettled: true },
    'image.nonMaxSuppressionAsync': { arguments: { rest: 'reads' }, result: { settles: 'creates' }, readsUntilSettled: true },
    'image.nonMaxSuppressionWithScoreAsync': { arguments: { rest: 'reads' }, result: { settles: 'creates' }, readsUntilSettled: true },
    setdiff1dAsync: { arguments: { rest: 'reads' }, result: { settles: 'creates' }, readsUntilSettled: true },
    util: host, 'util.*': { arguments: { rest: 'reads' }, result: 'host' },
    'Tensor.dispose': frees,
    'Variable.dispose': frees,
    'Tensor.data': reader, 'Tensor.array': reader, 'Tensor.bytes': reader, 'Tensor.buffer': reader,
    'Tensor.dataSync': hostReader, 'Tensor.arraySync': hostReader, 'Tensor.bufferSync': hostReader, 'Tensor.toString': hostReader,
    'Tensor.print': { arguments: { receiver: 'reads' }, result: 'host' },
    'Tensor.dataToGPU': { arguments: { receiver: 'reads' }, result: 'unknown' },
    'Tensor.throwIfDisposed': { arguments: { receiver: 'reads' }, result: 'host' },
    'Variable.assign': { arguments: { receiver: 'inspects', 0: 'reads' }, result: 'host' },
    'Optimizer.minimize': { arguments: { rest: 'reads' }, role: { kind: 'traces', function: 0 }, result: 'creates', onlyIfTrue: 1 },
    'Optimizer.computeGradients': { arguments: { rest: 'reads' }, role: { kind: 'traces', function: 0 }, result: 'creates' },
    'Optimizer.applyGradients': { arguments: { rest: 'reads' }, result: 'host' },
    'Optimizer.dispose': frees,
    'Optimizer.getWeights': { result: { settles: 'unknown' } },
    'SGDOptimizer.setLearningRate': { arguments: { receiver: 'inspects' }, result: 'host' },
    'LayersModel.compile': { arguments: { rest: 'stores' }, result: 'host' },
    'Sequential.compile': { arguments: { rest: 'stores' }, result: 'host' },
    'Sequential.add': { arguments: { rest: 'stores' }, result: 'host' },
    'LayersModel.dispose': frees, 'Container.dispose': frees, 'GraphModel.dispose': frees, 'Layer.dispose': frees,
    'LayersModel.fit': runs, 'Sequential.fit': runs, 'LayersModel.fitDataset': { ...runs, arguments: { receiver: 'reads', rest: 'stores' } }, 'Sequential.fitDataset': { ...runs, arguments: { receiver: 'reads', rest: 'stores' } },
    'LayersModel.trainOnBatch': runs, 'Sequential.trainOnBatch': runs,
    'LayersModel.evaluateDataset': { ...runs, result: { settles: 'creates' } },
    'LayersModel.predict': { arguments: { receiver: 'reads', rest: 'reads' }, result: 'creates' },
    'LayersModel.save': { arguments: { receiver: 'reads', rest: 'reads' }, result: { settles: 'host' }, readsUntilSettled: true },
    'LayersModel.summary': { arguments: { receiver: 'reads' }, result: 'host' },
    'LayersModel.getWeights': { arguments: { receiver: 'reads' }, result: { aliases: -1 } }, 'Container.getWeights': { arguments: { receiver: 'reads' }, result: { aliases: -1 } }, 'Layer.getWeights': { arguments: { receiver: 'reads' }, result: { aliases: -1 } }, 'Container.getLayer': { arguments: { receiver: 'inspects' }, result: { aliases: -1 } }, 'LayersModel.getLayer': { arguments: { receiver: 'inspects' }, result: { aliases: -1 } }, 'Sequential.getLayer': { arguments: { receiver: 'inspects' }, result: { aliases: -1 } },
    'LayersModel.setWeights': { arguments: { receiver: 'reads', rest: 'reads' }, result: 'host' }, 'Container.setWeights': { arguments: { receiver: 'reads', rest: 'reads' }, result: 'host' },
    'GraphModel.predict': { arguments: { receiver: 'reads', rest: 'reads' }, result: 'creates' },
    'GraphModel.predictAsync': { arguments: { receiver: 'reads', rest: 'reads' }, result: { settles: 'creates' }, readsUntilSettled: true },
    'GraphModel.execute': { arguments: { receiver: 'reads', rest: 'reads' }, result: 'creates', countOf: 1 },
    'GraphModel.executeAsync': { arguments: { receiver: 'reads', rest: 'reads' }, result: { settles: 'creates' }, countOf: 1, readsUntilSettled: true },
    'Dataset.forEachAsync': { result: { settles: 'host' }, role: { kind: 'calls', callbacks: [{ argument: 0, when: 'now', times: 'many', given: [{ kind: 'unknown' }], result: 'dropped' }] } },
    'Dataset.*': { arguments: { rest: 'stores' }, result: 'unknown' },
  },
};
