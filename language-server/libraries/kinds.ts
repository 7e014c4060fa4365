/**
 * What a call does to a shape when nothing else is known of it, by the names that libraries of arrays share.
 *
 * Depends on: nothing.
 */
const reductions = /\.(mean|sum|prod|max|min|argmax|argmin)$/;
const elementwise = /\.(sqrt|square|exp|log|neg|negative|abs|add|sub|subtract|mul|multiply|div|divide|pow|tanh|log1p)$/;

/** Without an axis it yields one number of a whole array. */
export const isReduction = (name: string): boolean => reductions.test(name);
/** Of numbers it yields a number. */
export const isElementwise = (name: string): boolean => elementwise.test(name);
