/**
 * The allocators that a program is measured with side by side, and what one pays for what.
 *
 * Depends on: protocol.
 */
import type { AllocatorRun, ProfileReport } from '../protocol.ts';

export interface AllocatorChoice {
  readonly name: string;
  readonly allocator: 'bfc' | 'platform';
  readonly preallocate: boolean;
}

export const allocatorChoices: readonly AllocatorChoice[] = [
  { name: 'bfc, grows on demand', allocator: 'bfc', preallocate: false },
  { name: 'bfc, preallocated', allocator: 'bfc', preallocate: true },
  { name: 'platform', allocator: 'platform', preallocate: false },
];

export const tradeOff =
  'Preallocating makes allocations cheap and a shortage show at once, and keeps the memory from everybody else; `platform` reserves least and pays for each allocation.';

export const allocatorRun = ({ name, allocator, preallocate }: AllocatorChoice, report: ProfileReport): AllocatorRun => ({
  name,
  allocator,
  preallocate,
  wallMs: report.wallMs,
  peakBytes: report.peakBytes,
  peakReservedBytes: report.peakReservedBytes,
  fragmentation: fragmentation(report),
  exitCode: report.exitCode,
});

/** What is reserved at the most and not in use at the most, as a share of what is reserved. */
const fragmentation = ({ peakBytes, peakReservedBytes }: ProfileReport): number | null =>
  peakReservedBytes === 0 ? null : Math.max(0, 1 - peakBytes / peakReservedBytes);
