/**
 * What is added to a module while it is loaded, whoever loads it: Node's hooks, or the browser's network.
 *
 * A library that keeps its memory to itself hands it over; the person's functions are counted. Nothing is added to other
 * packages, and never to a file on disk. Depends on: jax-js, rewrite, source-map.
 */
import { hookedSource } from './jax-js.ts';
import { rewrite } from './rewrite.ts';
import { withMovedMap } from './source-map.ts';

const sitesPerFunction = 1 << 10;

export interface Adding {
  /** The source with what is added; undefined when it stays as it is. */
  changed(source: string, file: string, owner: 'user' | 'package'): string | undefined;
}

/** Counters are numbered from `first` up to, not including, `end`. */
export function adding(first: number, end: number): Adding {
  let next = first;
  // The two that add to modules number their sites far apart, as they do their counters.
  let nextSite = first * sitesPerFunction;
  return {
    changed(source, file, owner) {
      // Bundlers put libraries into files of their own naming, so the text decides.
      const hooked = source.includes('decRef(') ? hookedSource(source) : undefined;
      if (hooked !== undefined || owner === 'package') return hooked;
      const rewritten = rewrite(source, file, next, nextSite);
      if (rewritten === undefined || next + rewritten.table.functions.length > end) return undefined;
      next += rewritten.table.functions.length;
      nextSite += rewritten.sites;
      return withMovedMap(rewritten.source, rewritten.table.added);
    },
  };
}
