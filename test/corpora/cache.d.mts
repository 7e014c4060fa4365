/** Types of cache.mjs. */
export interface Package {
  readonly name: string;
  readonly version: string;
  readonly uses: readonly string[];
}
export const clone: string;
export const cache: string;
export function folderOf(name: string): string;
export function corpora(): { readonly packages: readonly Package[] };
