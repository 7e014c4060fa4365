/**
 * One program under each allocator, side by side as a text.
 *
 * Depends on: language-server/protocol, core/bytes.
 */
import type { AllocatorComparison } from '../language-server/protocol.ts';
import { writeBytes } from '../runtime/core/bytes.ts';

export function allocatorsText({ entry, runs, tradeOff, message }: AllocatorComparison): string {
  const rows = [
    ['allocator', 'time', 'peak in use', 'peak reserved', 'unused at most'],
    ...runs.map(({ name, wallMs, peakBytes, peakReservedBytes, fragmentation }) => [
      name,
      `${(wallMs / 1000).toFixed(2)} s`,
      writeBytes(peakBytes),
      writeBytes(peakReservedBytes),
      fragmentation === null ? '–' : `${(fragmentation * 100).toFixed(0)} %`,
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const table = rows.map((row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '));
  return [entry, '', ...table, '', ...(message === null ? [] : [message, '']), tradeOff, ''].join('\n');
}
