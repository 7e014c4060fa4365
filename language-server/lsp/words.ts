/**
 * How numbers are put to people, one form everywhere in the editor.
 *
 * Depends on: core/bytes.
 */
import { writeBytes } from '../../runtime/core/bytes.ts';

export { writeBytes };

/** `f32[32,784]` of a measured array. */
export function writeShape(shape: readonly number[] | null, dtype: string | null): string {
  const short =
    dtype === null
      ? 'bytes'
      : dtype
          .replace(/^float/, 'f')
          .replace(/^uint/, 'u')
          .replace(/^int/, 'i');
  return shape === null ? short : `${short}[${shape.join(',')}]`;
}

export const count = (n: number, one: string, many = `${one}s`): string => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

/** `a, b and c`. */
export function list(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

export function ago(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${count(minutes, 'minute')} ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${count(hours, 'hour')} ago` : `${count(Math.floor(hours / 24), 'day')} ago`;
}
