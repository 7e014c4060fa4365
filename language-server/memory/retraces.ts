/**
 * Compiled functions whose calls have ever new shapes or static arguments: each keeps a program of its own.
 *
 * Up to three signatures at one call are a table of sizes, more are a loop variable that flows into a shape.
 * Depends on: compiled, lower/ir.
 */
import type { ShapedCall } from '../compiled/jitted.ts';
import type { Span } from '../lower/ir.ts';
import { spanKey, type Analysis } from './analysis.ts';

export interface Retrace {
  readonly span: Span;
  readonly jit: Span;
  readonly name: string;
  /** Distinct signatures seen in one walk. */
  readonly programs: number;
  /** The first few, as their arguments' shapes. */
  readonly examples: readonly string[];
}

const tableSize = 3;

export function retraces({ exploration }: Analysis): readonly Retrace[] {
  const found = new Map<string, Retrace>();
  for (const run of exploration.runs) {
    const bySite = new Map<string, { call: ShapedCall; signatures: Set<string> }>();
    for (const call of run.calls) {
      if (call.function.how !== 'jit' && call.function.how !== 'pmap') continue;
      if (call.leaves.some(({ aval }) => aval === undefined)) continue;
      const at = `${spanKey(call.span)} ${call.function.serial}`;
      const site = bySite.get(at) ?? { call, signatures: new Set<string>() };
      site.signatures.add(call.signature);
      bySite.set(at, site);
    }
    for (const { call, signatures } of bySite.values()) {
      const at = spanKey(call.span);
      if (signatures.size <= tableSize || (found.get(at)?.programs ?? 0) >= signatures.size) continue;
      found.set(at, {
        span: call.span,
        jit: call.function.jit,
        name: call.function.bound ?? call.function.name,
        programs: signatures.size,
        examples: [...signatures].slice(0, 3),
      });
    }
  }
  return [...found.values()];
}
