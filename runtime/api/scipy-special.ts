/**
 * `scipySpecial`: the special functions of SciPy that there are.
 *
 * Depends on: functions.
 */
export { erf, erfc } from '../functions/lax.ts';
export { logit } from '../functions/basic.ts';
export { logSoftmax, logsumexp, sigmoid as expit, softmax } from '../functions/nn.ts';
