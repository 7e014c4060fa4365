/**
 * Classes as compilers write them for old machines: `new` makes an object, methods share its fields.
 *
 * Depends on: support/check.
 */
import assert from 'node:assert/strict';
import { checkAll } from '../support/check.ts';

const model = `// @file model.js
"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.load = exports.Model = void 0;
var tf = require("@tensorflow/tfjs");
var Model = /** @class */ (function () {
  function Model(url) {
    this.url = url;
  }
  Model.prototype.load = async function () {
    this.model = await tf.loadGraphModel(this.url);
  };
  Model.prototype.run = function (values) {
    var x = tf.tensor1d(values);
    var step = tf.scalar(1);
    var out = this.model.execute({ x: x, step: step });
    step.dispose();
    return out;
  };
  return Model;
}());
exports.Model = Model;
exports.load = async function (url) {
  var model = new Model(url);
  await model.load();
  return model;
};
`;

describe('classes of functions with prototypes', function () {
  this.timeout(60_000);

  it('keep what one method stores for the others', async () => {
    const [found] = await checkAll([model]);
    assert.deepEqual(
      found!.filter(({ severity }) => severity === 'warning' || severity === 'error').map(({ line, rule }) => `${line} ${rule}`),
      ['11 leak', '14 leak'],
    );
  });
});
