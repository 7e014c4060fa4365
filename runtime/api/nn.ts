/**
 * `nn`: activations, normalisation, attention.
 *
 * Depends on: functions.
 */
export * from '../functions/nn.ts';
