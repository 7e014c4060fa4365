/** Types of cache.mjs. */
export interface Package {
  readonly name: string;
  readonly version: string;
  readonly uses: readonly string[];
}
export const clone: string;
export const cache: string;
export function folderOf(name: string): string;
/** A place whose loss harms nobody, and why. */
export interface Harmless {
  readonly package: string;
  readonly file: string;
  readonly line: number;
  readonly reason: 'gone' | 'scoped' | 'nothing' | 'unreachable';
  readonly because: string;
}
export function corpora(): { readonly packages: readonly Package[]; readonly harmless: readonly Harmless[] };
