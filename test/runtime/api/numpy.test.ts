/**
 * `numpy`, `nn` and `lax` against jax-js, function by function, and what jax-js exports is there.
 *
 * Depends on: runtime, test/support, @jax-js/jax.
 */
import assert from 'node:assert/strict';
import * as theirs from '@jax-js/jax';
import * as ours from '../../../runtime/index.ts';
import { near, onCpu } from '../../support/arrays.ts';

type Any = Readonly<Record<string, unknown>>;
type Call = (...args: unknown[]) => unknown;

/** Arguments: an array is written { a: numbers }, whole numbers { i: numbers }; everything else is passed as it is. */
const a = (values: unknown) => ({ a: values });
const i = (values: unknown) => ({ i: values });
const A = a([
  [1.5, -2, 3],
  [0.25, 4, -1],
]);
const B = a([
  [2, 0.5, 1],
  [-3, 1, 0.1],
]);
const P = a([
  [0.1, 0.5, 0.9],
  [0.3, 0.2, 0.7],
]);
const V = a([3, 1, 2, 0.5]);
const S = a([
  [4, 1, 0],
  [1, 3, 0.5],
  [0, 0.5, 2],
]);
const image = a([
  [
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ],
]);
const kernel = a([
  [
    [1, 2],
    [0, 1],
  ],
]);

const each = (names: string, ...args: unknown[]): readonly [string, ...unknown[]][] => names.split(' ').map((name) => [name, ...args]);

const rows: readonly (readonly [string, ...unknown[]])[] = [
  ...each(
    'abs atan asinh ceil cos cosh exp exp2 expm1 floor negative positive reciprocal round rint sign signbit sin sinc sinh square tan tanh trunc cbrt deg2rad rad2deg isfinite isinf isnan isneginf isposinf nanToNum',
    A,
  ),
  ...each('log log2 log10 log1p sqrt acos asin atanh', P),
  ['acosh', a([1.5, 4])],
  ...each(
    'ravel transpose flip flipud fliplr matrixTranspose squeeze zerosLike onesLike triu tril rot90 diagonal trace modf frexp unwrap logicalNot',
    A,
  ),
  ...each(
    'sum prod max min mean var_ std any all argmax argmin ptp cumsum cumprod nansum nanprod nanmax nanmin nanmean nanstd nanvar countNonzero sort argsort cov corrcoef diff ediff1d',
    A,
  ),
  ...each(
    'add subtract multiply divide floorDivide remainder fmod maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2 copysign heaviside equal notEqual less lessEqual greater greaterEqual logicalAnd logicalOr logicalXor vecdot divmod allclose arrayEqual vdot inner',
    A,
    B,
  ),
  ...each('power floatPower', P, B),
  ['sum', A, 0],
  ['sum', A, -1, { keepdims: true }],
  ['max', A, [0, 1]],
  ['mean', A, 1],
  ['argmax', A, 1],
  ['cumsum', A, 1],
  ['sort', A, 0],
  ['argsort', A, -1],
  ['std', A, 0, { correction: 1 }],
  ['average', A, 1],
  ['nanargmax', A],
  ['matmul', A, S],
  ['dot', A, S],
  ['outer', V, V],
  ['tensordot', A, A, [[0], [0]]],
  ['tensordot', A, S, 1],
  ['concatenate', [A, B], 1],
  ['stack', [A, B], -1],
  ['stack', [A, B]],
  ['hstack', [A, B]],
  ['vstack', [V, V]],
  ['dstack', [A, B]],
  ['columnStack', [V, V]],
  ['split', V, 2],
  ['arraySplit', V, 3],
  ['append', A, B],
  ['meshgrid', [V, V]],
  ['select', [A, B], [A, B], 0],
  ['roll', A, 1, 1],
  ['roll', A, 2],
  ['repeat', A, 2, 1],
  ['repeat', V, 3],
  ['tile', A, [2, 1]],
  ['pad', A, 1],
  [
    'pad',
    A,
    [
      [1, 0],
      [0, 2],
    ],
  ],
  ['take', A, i([0, 2]), 1],
  [
    'takeAlongAxis',
    A,
    i([
      [0, 1, 2],
      [2, 1, 0],
    ]),
    1,
  ],
  ['clip', A, -1, 1],
  ['arange', 5],
  ['arange', 1, 7, 2],
  ['linspace', 0, 1, 5],
  ['logspace', 0, 2, 3],
  ['geomspace', 1, 8, 4],
  ['eye', 3],
  ['eye', 2, 3],
  ['tri', 3],
  ['diag', V],
  ['diag', S],
  ['diag', V, 1],
  ['indices', [2, 3]],
  ['vander', V],
  ['polyval', V, A],
  ['polyadd', V, a([1, 2])],
  ['polymul', V, a([1, 2])],
  ['polyder', V],
  ...['full', 'same', 'valid'].flatMap((mode): readonly (readonly [string, ...unknown[]])[] => [
    ['convolve', V, a([1, 2, 3]), mode],
    ['correlate', V, a([1, 2, 3]), mode],
  ]),
  ...each('hann blackman bartlett', 6),
  ['expandDims', A, 0],
  ['moveaxis', A, 0, 1],
  ['swapaxes', A, 0, 1],
  ['broadcastTo', V, [2, 4]],
  ['reshape', A, [3, -1]],
  ['trapezoid', V],
  ['diff', A, 1, 0],
  ['isin', V, a([1, 2])],
  ['cumulativeSum', V, { includeInitial: true }],
  ['bitwiseAnd', i([5, 6]), i([3, 2])],
  ['leftShift', i([5, 6]), i([3, 2])],
  ['bitwiseCount', i([5, 6])],
  ['invert', i([5, 6])],
  ['floorDivide', i([-5, 6]), i([3, -4])],
  ['remainder', i([-5, 6]), i([3, -4])],
  ...each('linalg.norm linalg.svdvals', A),
  ...each('linalg.det linalg.inv linalg.cholesky linalg.slogdet linalg.eigvalsh', S),
  ['linalg.solve', S, a([1, 2, 3])],
  ['linalg.matrixPower', S, 3],
  ...each('fft.fft fft.ifft', { real: V, imag: V }),
  ['fft.rfft', V],
  ['fft.ihfft', V],
  ['fft.fftshift', V],
  ['fft.fftfreq', 5],
  ...each('fft.irfft fft.hfft', { real: a([1, 2, 3]), imag: a([0, 1, 0]) }),
  ...each(
    'nn.relu nn.softmax nn.gelu nn.sigmoid nn.softplus nn.silu nn.elu nn.celu nn.selu nn.mish nn.squareplus nn.logsumexp nn.logmeanexp nn.standardize nn.hardTanh nn.hardSilu nn.hardSigmoid nn.relu6 nn.leakyRelu nn.sparsePlus nn.sparseSigmoid nn.logSigmoid nn.softSign lax.erf lax.erfc',
    A,
  ),
  ['nn.logSoftmax', A, 0],
  ['nn.gelu', A, { approximate: false }],
  ['nn.glu', a([[1, 2, 3, 4]])],
  ['nn.log1mexp', P],
  ['nn.oneHot', i([0, 2]), 3],
  ['scipySpecial.logit', P],
  ['lax.topK', V, 2],
  ['lax.conv', image, kernel, [1], 'SAME'],
  ['lax.convGeneralDilated', image, kernel, [2], [[1, 2]], { rhsDilation: [2] }],
  ['lax.convTranspose', image, kernel, [2], 'SAME'],
];

const isArray = (x: unknown): x is { readonly a?: unknown; readonly i?: unknown } =>
  typeof x === 'object' && x !== null && ('a' in x || 'i' in x);
function argument(library: Any, x: unknown): unknown {
  const np = library['numpy'] as { array: Call };
  if (isArray(x)) return 'a' in x ? np.array(x.a) : np.array(x.i, { dtype: 'int32' });
  if (Array.isArray(x)) return x.map((item) => argument(library, item));
  if (typeof x === 'object' && x !== null)
    return Object.fromEntries(Object.entries(x).map(([key, item]) => [key, argument(library, item)]));
  return x;
}
const member = (library: Any, name: string): Call => {
  const path = name.split('.');
  const from = path.length > 1 && !['linalg', 'fft'].includes(path[0]!) ? library : (library['numpy'] as Any);
  return path.reduce<unknown>((own, key) => (own as Any)[key], from) as Call;
};
function contents(result: unknown): number[] {
  if (Array.isArray(result)) return result.flatMap(contents);
  if (typeof result === 'object' && result !== null)
    return 'js' in result
      ? contents((result as { js: () => unknown }).js())
      : Object.keys(result)
          .sort()
          .flatMap((key) => contents((result as Any)[key]));
  return [Number(result)];
}

describe('numpy, nn and lax', () => {
  before(async () => {
    await theirs.init('cpu');
    theirs.defaultDevice('cpu');
    onCpu();
  });

  for (const [name, ...args] of rows)
    it(`${name}(${JSON.stringify(args).slice(1, 60)}) is what jax-js computes`, () => {
      const [found, expected] = [ours, theirs].map((library) =>
        contents(member(library as Any, name)(...args.map((x) => argument(library as Any, x)))),
      );
      near(found!, expected!, 3e-4, name);
    });

  it('have everything that jax-js exports there', () => {
    const beyond = ['float64'];
    const pairs: readonly (readonly [object, object])[] = [
      [theirs.numpy, ours.numpy],
      [theirs.nn, ours.nn],
      [theirs.lax, ours.lax],
      [theirs.random, ours.random],
      [theirs.scipySpecial, ours.scipySpecial],
      [theirs.numpy.linalg, ours.numpy.linalg],
      [theirs.numpy.fft, ours.numpy.fft],
    ];
    assert.deepEqual(
      pairs.flatMap(([other, own]) => Object.keys(other).filter((name) => !(name in own) && !beyond.includes(name))),
      [],
    );
  });

  it('einsum contracts, takes diagonals, keeps shared axes and sums what nobody names', () => {
    const { np } = ours;
    const [x, s] = [np.arange(6).astype('float32').reshape([2, 3]), np.arange(9).astype('float32').reshape([3, 3])];
    const of = (text: string, ...operands: ours.Array[]): number[] => contents(np.einsum(text, ...operands));
    assert.deepEqual(of('ij,jk->ik', x, s), contents(x.matmul(s)));
    assert.deepEqual(of('ij->ji', x), contents(x.transpose()));
    assert.deepEqual(of('ii->i', s), [0, 4, 8]);
    assert.deepEqual(of('ii', s), [12]);
    assert.deepEqual(of('ij->', x), [15]);
    assert.deepEqual(of('...j,jk->...k', x, s), contents(x.matmul(s)));
    assert.deepEqual(of('ij,ij->i', x, x), contents(x.mul(x).sum(1)));
    assert.deepEqual(contents(np.einsum(x, [0, 1], s, [1, 2], [0, 2])), contents(x.matmul(s)));
    const stacks = [np.arange(4).astype('float32').reshape([2, 1, 1, 2]), np.arange(6).astype('float32').reshape([3, 2, 1])] as const;
    assert.deepEqual(contents(np.einsum('...ij,...jk->...ik', ...stacks)), contents(np.matmul(...stacks)));
    assert.deepEqual(of('ij,ij->i', x.slice([], [0, 1]), x), [0, 3 * (3 + 4 + 5)]);
  });

  it('einsum of many operands multiplies the cheapest pair first', () => {
    const { np } = ours;
    const [x, v] = [np.ones([64, 64]), np.arange(64).astype('float32')];
    const chain = (a: ours.Array, b: ours.Array): ours.Array => np.einsum('ij,jk,kl,l->i', a, a, a, b);
    assert.deepEqual(contents(chain(x, v)), contents(x.matmul(x.matmul(x.matmul(v)))));
    const { tempBytes } = ours.jit(chain).lower(x, v);
    assert.ok(tempBytes <= 1024, `${tempBytes} bytes of temporaries for products of vectors`);
  });

  it('index as NumPy does', () => {
    const { np } = ours;
    const x = np.arange(24).reshape([2, 3, 4]);
    const js = (y: ours.Array): unknown => y.js();
    assert.deepEqual(js(x.slice(-1, 0)), [12, 13, 14, 15]);
    assert.deepEqual(js(x.slice('...', 1)), [
      [1, 5, 9],
      [13, 17, 21],
    ]);
    assert.deepEqual(x.slice(null, 0, [1], [0, 4, 2]).shape, [1, 2, 2]);
    assert.deepEqual(js(x.slice(0, 0, [3, 0, -1])), [3, 2, 1]);
    assert.deepEqual(js(x.slice(0, np.array([2, -3], 'int32'), 1)), [9, 1]);
    assert.deepEqual(x.slice(np.array([[0, 1]], 'int32'), [], np.array([0, 1], 'int32')).shape, [1, 2, 3]);
    assert.deepEqual(
      js(
        np
          .zeros([4])
          .at(np.array([1, 1, 3], 'int32'))
          .add(1),
      ),
      [0, 2, 0, 1],
    );
    assert.deepEqual(js(np.ones([3]).at([0, 3, 2]).mul(5)), [5, 1, 5]);
    // A number beside an array is an index array too: apart from each other their axes stand in front.
    const picked = np.array([2, 0], 'int32');
    assert.deepEqual(js(x.slice(0, [], picked)), [
      [2, 6, 10],
      [0, 4, 8],
    ]);
    assert.deepEqual(x.slice([], 0, picked).shape, [2, 2]);
    assert.deepEqual(x.slice(1, null, picked).shape, [2, 1, 4]);
    assert.deepEqual(
      js(
        x
          .at(0, [], picked)
          .set(np.arange(6).reshape([2, 3]))
          .slice(0),
      ),
      [
        [3, 1, 0, 3],
        [4, 5, 1, 7],
        [5, 9, 2, 11],
      ],
    );
    for (const [part, expected] of [
      [
        [-1, -99, -2],
        [3, 1],
      ],
      [
        [99, -99, -1],
        [3, 2, 1, 0],
      ],
      [[-99, 2, -1], []],
      [[1, 99, -1], []],
    ] as const)
      assert.deepEqual(js(x.slice(0, 0, part)), expected, `[${part.join(',')}]`);
    assert.throws(() => x.slice(2), /index 2 is outside of axis 0, which has 2 elements/);
    assert.throws(() => x.slice(0, 0, 0, 0), /4 indices are more than its axes/);
  });

  it('dynamic slices count negative starts from the end, as JAX does, and stay inside', () => {
    const { np, lax, jit } = ours;
    const x = np.arange(5);
    for (const [start, expected] of [
      [-2, [3, 4]],
      [-1, [3, 4]],
      [-9, [0, 1]],
      [9, [3, 4]],
    ] as const) {
      const k = np.array(start, 'int32');
      assert.deepEqual(lax.dynamicSlice(x, [start], [2]).js(), expected);
      assert.deepEqual(jit((y: ours.Array, at: ours.Array) => lax.dynamicSlice(y, [at], [2]))(x, k).js(), expected);
      const written = [0, 1, 2, 3, 4].map((n) => ((expected as readonly number[]).includes(n) ? 7 : n));
      const sevens = np.full([2], 7, 'int32');
      assert.deepEqual(lax.dynamicUpdateSlice(x, sevens, [start]).js(), written);
      assert.deepEqual(lax.dynamicUpdateSlice(x, sevens, [k]).js(), written);
    }
  });

  it('powers have a slope where the base is zero', () => {
    const { np, grad } = ours;
    const slopes = grad((x: ours.Array) => np.power(x, np.array([0, 1, 2, 3])).sum())(np.zeros([4]));
    assert.deepEqual(slopes.js(), [0, 1, 0, 0]);
    near(contents(grad((x: ours.Array) => x.pow(0).sum())(np.array([0, -2]))), [0, 0], 0, 'constant');
  });

  it('say which shapes do not go together', () => {
    const { np } = ours;
    assert.throws(() => np.ones([2, 3]).add(np.ones([4])), /`add` got f32\[2,3\] and f32\[4\]: dimension 3 doesn't broadcast to 4/);
    assert.throws(() => np.ones([2, 3]).matmul(np.ones([4, 5])), /f32\[2,3\] and f32\[4,5\]: dimensions 3 and 4 have to be equal/);
    assert.throws(() => np.ones([2, 3]).reshape([4]), /6 elements don't fill \[4\]/);
    assert.throws(() => np.sum(np.ones([2]), 1), /got axis 1 for f32\[2\]/);
    assert.throws(() => np.zeros([2], 'float64' as 'float32'), /is no dtype/);
  });
});
