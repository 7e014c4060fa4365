import { writeBytes } from '../../runtime/core/bytes.ts';
import { clearedLibraries } from '../flow/emptying.ts';
import type { Observation } from '../flow/facts.ts';
import { chainAround, isDropped, isLastReference, lastUseIn, ownArray, replacedAt } from '../flow/proofs.ts';
import type { Intent } from '../lower/intent.ts';
import type { LoweredFunction, Span } from '../lower/ir.ts';
import { analysisOf } from '../memory/analysis.ts';
import { sizesOf } from '../memory/sizes.ts';
import type { Cases, Finding, Note, Rule, RuleContext } from './rule.ts';
import { aNew, called } from './words.ts';

type Lost = Extract<Observation, { kind: 'lost' }>;

export const rule: Rule = {
  id: 'leak',
  severity: 'warning',
  summary: 'An array is lost without being freed.',
  docs: `
An array that the function made is neither returned, stored somewhere that outlives it, donated, consumed nor disposed on
some path, and nothing can free it any more: memory of the device is not collected when a variable goes out of scope. Common
ways: the intermediate results of a chain, a variable or field that is overwritten, an early return, a \`catch\` that returns, a
part of a result that nobody takes, a model or optimizer that is dropped, a property that is deleted. Wrap the work in
\`tidy\` or \`scope\`, declare with \`using\`, or dispose after the last use. Where operations consume, one \`.ref\` too many leaks too.`,
  *check(context) {
    const { unit, observations, project } = context;
    const cleared = context.shared(allVariables, () => clearedLibraries(project));
    const lines = new Set<string>();
    for (const seen of observations) {
      if (seen.kind !== 'lost') continue;
      if (seen.array.unscoped === true && cleared.has(seen.array.library)) {
        context.silent('all variables are freed at once somewhere');
        continue;
      }
      // Several intermediates of one statement are one mistake.
      const line = `${lineOf(unit.lines, seen.span.start)}`;
      if (lines.has(line)) continue;
      lines.add(line);
      yield finding(seen, context);
    }
  },
};

const allVariables = Symbol('libraries all of whose variables are freed at once');

/** Smaller ones are not worth a word. */
const leastBytes = 1024;

/** The bytes of what is lost, in brackets behind its name, where every walk agrees on them. */
function size({ array: { made } }: Lost, context: RuleContext): string {
  const bytes = made === undefined ? undefined : sizesOf(analysisOf(context))(made);
  return bytes === undefined || bytes < leastBytes ? '' : ` (${writeBytes(bytes)})`;
}

const lineOf = (starts: readonly number[], offset: number): number => starts.findLastIndex((start) => start <= offset);

function finding(seen: Lost, context: RuleContext): Finding {
  const { array, how } = seen;
  const whole = seen.what === 'owner' && array.name === undefined ? 'this object' : `${called(array)}${size(seen, context)}`;
  const thing = seen.what === 'owner' ? `${whole} and the ${array.words.noun}s in it` : whole;
  const are = seen.what === 'owner' ? 'are' : 'is';
  const freed = array.words.consumes ? 'consumed or disposed' : array.words.free === 'destroy' ? 'destroyed' : 'disposed';
  const notes: Note[] =
    how !== 'end' && how !== 'dropped' && array.made !== undefined && array.made.start !== seen.span.start
      ? [{ span: array.made, text: 'made here' }]
      : [];
  const path = seen.path === 'catch' ? ' on the path through the `catch`' : '';
  switch (how) {
    case 'extraRef':
      return {
        span: seen.span,
        message: `one reference too many: what this \`.${array.words.copy ?? 'ref'}\` adds to ${called(array)} is never given back`,
        notes,
        intents: [{ kind: 'dropRef', title: 'Remove this `.ref`', safe: isSurplus(seen, context), use: seen.span }],
      };
    case 'argument':
      return {
        span: seen.span,
        message: `the parameter ${called(array)} belongs to this function, which on some path neither consumes nor disposes it`,
        notes,
        intents: [],
      };
    case 'overwritten':
      return {
        span: seen.span,
        message: `this assignment loses ${whole}, which is still held here and was never ${freed}`,
        notes,
        intents: [replaced(seen, { span: seen.span, optional: true })],
      };
    case 'deleted':
      return {
        span: seen.span,
        message: `this removes the last hold on ${array.name === undefined ? aNew(array) : called(array)}${size(seen, context)}, which was never ${freed}`,
        notes,
        intents: [
          {
            kind: 'disposeRemoved',
            title: `${freeing(seen)} it before`,
            safe: false,
            removal: seen.span,
            verb: array.words.free,
          },
        ],
      };
    case 'field':
      return { span: seen.span, message: `${thing} ${are} forgotten when the object is disposed`, notes, intents: [] };
    case 'part':
      return { span: seen.span, message: `a part of this result is never ${freed}: only what was taken out of it is`, notes, intents: [] };
    case 'end':
    case 'dropped':
      return { span: seen.span, message: `${thing} ${are} never ${freed}${path}`, notes, intents: fixes(seen, context) };
  }
}

const freeing = ({ array }: Lost): string => (array.words.free === 'destroy' ? 'Destroy' : 'Dispose');

const functionOf = ({ function: id, span }: Lost, { project }: RuleContext): LoweredFunction | undefined => {
  const fn = project.function(id);
  return fn?.file === span.file ? fn : undefined;
};

function isSurplus(seen: Lost, context: RuleContext): boolean {
  const fn = functionOf(seen, context);
  return fn !== undefined && seen.declaration !== undefined && isLastReference(context.project, fn, seen.declaration, seen.span);
}

const replaced = (seen: Lost, { span, optional }: { readonly span: Span; readonly optional: boolean }): Intent => ({
  kind: 'disposeReplaced',
  title: `${freeing(seen)} the old ${seen.array.words.noun} before`,
  safe: false,
  assignment: span,
  verb: seen.array.words.free,
  optional,
});

function fixes(seen: Lost, context: RuleContext): readonly Intent[] {
  const { array, declaration } = seen;
  const fn = functionOf(seen, context);
  const place = fn === undefined || array.name === undefined ? undefined : replacedAt(context.project, fn, array.name);
  if (place !== undefined && seen.what === 'array') return [replaced(seen, place)];
  if (array.name === undefined || !/^[\w$]+$/.test(array.name) || declaration === undefined) return intermediate(seen, fn, context);
  const { name, words } = array;
  // Once the array is seen by nothing but calls that read it, freeing it behind them changes nothing else.
  const own = fn === undefined || seen.what === 'owner' ? undefined : ownArray(context.project, fn, declaration);
  const safe = own !== undefined;
  const after = own?.lastUse ?? (fn === undefined ? seen.lastUse : lastUseIn(fn, declaration));
  const intents: Intent[] = [];
  if (words.scope === 'scope' && context.unit.disposable === true)
    intents.push({ kind: 'using', title: `Declare \`${name}\` with \`using\``, safe, declaration, name });
  if (after !== undefined && after.file === seen.span.file)
    intents.push({
      kind: 'disposeAfter',
      title: `${freeing(seen)} \`${name}\` after its last use`,
      safe,
      name,
      verb: words.free,
      after,
      declaration,
    });
  intents.push({ kind: 'tryFinally', title: `Free \`${name}\` in a \`finally\``, safe: false, declaration, name, verb: words.free });
  return intents;
}

/** What has no name is freed on the spot when nobody takes it; else a scope around the chain that it is part of. */
function intermediate(seen: Lost, fn: LoweredFunction | undefined, { project }: RuleContext): readonly Intent[] {
  const { words } = seen.array;
  if (fn === undefined || seen.what === 'owner') return [];
  if (isDropped(project, fn, seen.span))
    return [{ kind: 'disposeResult', title: `${freeing(seen)} the result`, safe: true, use: seen.span, verb: words.free }];
  const chain = chainAround(fn, seen.span);
  if (words.scope === undefined || chain === undefined) return [];
  return [
    {
      kind: 'scope',
      title: `Wrap in \`${words.scope}\``,
      safe: chain.proven,
      span: chain.span,
      with: words.scope === 'tidy' ? 'tidy' : 'scope',
    },
  ];
}

export const cases: Cases = {
  bad: [
    `
  import * as tf from '@tensorflow/tfjs';
  export function mean(values: number[]): number {
    const t = tf.tensor1d(values);
  //          ^^^^^^^^^^^^^^^^^^^ warning: \`t\` is never disposed
    return values.length;
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  export function total(t: tf.Tensor): number {
    return t.square().sum().dataSync()[0]!;
  //       ^^^^^^^^^^ warning: this tensor is never disposed
  }`,
    `
  import { np } from 'tidemark';
  export function count(): number {
    const table = np.ones([512, 512]);
  //              ^^^^^^^^^^^^^^^^^^^ warning: \`table\` (1.0 MiB) is never disposed
    return table.size;
  }`,
    `
  import { numpy as np } from '@jax-js/jax';
  export function run(): number[] {
    const x = np.ones([4]);
    const y = np.square(x.ref);
  //                    ^^^^^ warning: one reference too many: what this \`.ref\` adds to \`x\` is never given back
    return y.js() as number[];
  }`,
  ],
  good: [
    `
  import * as tf from '@tensorflow/tfjs';
  export function total(t: tf.Tensor): number {
    return tf.tidy(() => t.square().sum().dataSync()[0]!);
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  export function ready(values: number[], wanted: boolean): tf.Tensor | undefined {
    const t = wanted ? tf.tensor1d(values) : undefined;
    if (values.length > 3 && t) {
      t.dispose();
      return undefined;
    }
    return t;
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  export class Fitted {
    private base: tf.LayersModel | undefined;
    joint: tf.Sequential = tf.sequential();
    mean(t: tf.Tensor): number {
      return tf.tidy('mean', () => t.square().mean().dataSync()[0]!);
    }
    features(base: tf.LayersModel, x: tf.Tensor): tf.Tensor {
      return tf.model({ inputs: base.inputs, outputs: base.layers[3]!.output }).predict(x) as tf.Tensor;
    }
    join(): void {
      const joint = tf.sequential();
      if (this.base !== undefined) joint.add(this.base);
      this.joint = joint;
    }
    async load(url: string): Promise<void> {
      this.base?.dispose();
      this.base = undefined;
      try {
        this.base = await tf.loadLayersModel(url);
      } catch (error) {
        console.error(error);
      }
    }
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  class Source {}
  export class Crops extends Source {
    private box: tf.Tensor1D;
    constructor(values: number[]) {
      super();
      this.box = tf.tensor1d(values);
    }
    largest(frames: readonly number[]): number {
      const crops = frames.map((frame) => this.box.mul(frame));
      let most = 0;
      for (let i = 0; i < crops.length; i++) {
        most = Math.max(most, crops[i]!.size);
        crops[i]!.dispose();
      }
      return most;
    }
    dispose(): void {
      this.box.dispose();
    }
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  export async function best(model: tf.LayersModel, x: tf.Tensor): Promise<void> {
    const out = tf.tidy(() => model.predict(x));
    if (out instanceof tf.Tensor) out.dispose();
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  export function edges(x: tf.Tensor): number[] {
    const t: Record<string, tf.Tensor> = {};
    t.gray = tf.mean(x, -1);
    [t.left, t.right] = tf.split(t.gray, 2);
    for (let i = 0; i < 3; i++) t[\`power\${i}\`] = tf.pow(t.left!, i);
    const out = Array.from(t.right!.dataSync());
    Object.keys(t).forEach((key) => tf.dispose(t[key]!));
    return out;
  }
  export function head(base: tf.LayersModel, classes: number): tf.LayersModel {
    const output = tf.layers.dense({ units: classes }).apply(base.outputs[0]!) as tf.SymbolicTensor;
    return tf.model({ inputs: base.inputs, outputs: output });
  }`,
    `
  import * as tf from '@tensorflow/tfjs';
  export function warmUp(): void {
    const sizes = [tf.zeros([1]), tf.zeros([2]), tf.zeros([3])];
    for (let i = 0; i < sizes.length; i++) sizes[i]!.print();
    for (let i = sizes.length - 1; i >= 0; i--) sizes[i]!.dispose();
  }
  export class Weights {
    private all: tf.Tensor[] | undefined;
    make(): void {
      this.free();
      this.all = [tf.zeros([1]), tf.zeros([2]), tf.zeros([3])];
    }
    free(): void {
      if (!this.all) return;
      for (let i = 0; i < this.all.length; i++) this.all[i]!.dispose();
      this.all = undefined;
    }
  }`,
    `
  // @file helper.js
  "use strict";
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.scale = void 0;
  var tf = require("@tensorflow/tfjs");
  var scale = function (box, factors) {
    var starts = tf.mul(box.start, factors);
    return tf.concat([starts, box.end], 1);
  };
  exports.scale = scale;
  // @file model.js
  "use strict";
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.Model = void 0;
  var tf = require("@tensorflow/tfjs");
  var helper_1 = require("./helper");
  var Model = /** @class */ (function () {
    function Model(factors) {
      this.factors = tf.tensor1d(factors);
    }
    Model.prototype.find = function (box) {
      var _this = this;
      return tf.tidy(function () { return tf.squeeze((0, helper_1.scale)(box, _this.factors)); });
    };
    Model.prototype.dispose = function () {
      this.factors.dispose();
    };
    return Model;
  }());
  exports.Model = Model;`,
    `
  // @file injected.js
  import * as tf from '@tensorflow/tfjs';
  export class Summer {
    constructor(library) {
      this.tf = library;
    }
    sum(values) {
      return this.tf.tidy(() => tf.tensor1d(values).square().sum().dataSync()[0]);
    }
  }`,
  ],
};
