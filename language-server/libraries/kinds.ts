/**
 * What a call does to shapes when nothing else is known of it, by the names that libraries of arrays share.
 *
 * Names are those of models (`numpy.sum`, `Array.sum`) or of methods. Depends on: nothing.
 */
const set = (names: string): ReadonlySet<string> => new Set(names.split(' '));
const last = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

const reductions = set('mean sum prod max min argmax argmin');
const elementwise = set(
  'add sub subtract mul multiply div divide pow neg negative exp log log1p sqrt square abs sin cos tanh relu gelu sigmoid clip where astype',
);
const alike = set('softmax logSoftmax normalize copy ref');
const byList = set('zeros ones full empty normal uniform bits randint truncatedNormal reshape broadcastTo tile');
const byNumber = set('arange eye identity');
const joining = set('concatenate concat append vstack hstack stack');

/** Without an axis it yields one number of a whole array. */
export const isReduction = (name: string): boolean => reductions.has(last(name));
/** Of numbers it yields a number. */
export const isElementwise = (name: string): boolean => elementwise.has(last(name));
/** It yields an array of its operands' shape. */
export const keepsShape = (name: string): boolean => isElementwise(name) || alike.has(last(name));
/** It yields an array of a shape that a list among its arguments gives. */
export const isShapedByList = (name: string): boolean => byList.has(last(name));
/** It yields an array of as many elements as a number says. */
export const isShapedByNumber = (name: string): boolean => byNumber.has(last(name));
/** Its operands stand one after the other in what it yields. */
export const joins = (name: string): boolean => joining.has(last(name));
