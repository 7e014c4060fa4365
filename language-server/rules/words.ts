/**
 * Words that several rules use: how an array is called, and how sure one is.
 *
 * Depends on: flow/facts.
 */
import type { Named } from '../flow/facts.ts';

export const was = (certain: boolean): string => (certain ? 'was' : 'may have been');

/** `params`, or `this tensor` for one without a name. */
export const called = ({ name, words }: Named): string => (name === undefined ? `this ${words.noun}` : `\`${name}\``);

/** At the start of a sentence. */
export const aNew = ({ words }: Named): string => (/^[aeiou]/.test(words.noun) ? `an ${words.noun}` : `a ${words.noun}`);
