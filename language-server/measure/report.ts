/**
 * The report of a run: the folds over its events, in the form that the contracts of the command line name.
 *
 * Takes events that are already attached to sources. Kinds of staging memory are told apart by a key of their own, since
 * readers of the contract know four kinds. Depends on: events, protocol.
 */
import { writeBytes } from '../../runtime/core/bytes.ts';
import { byFunction } from '../../runtime/events/by-function.ts';
import type { FunctionTotals } from '../../runtime/events/by-function.ts';
import { bySite, bytesOf, linesAtPeak, placeOf, siteOf } from '../../runtime/events/by-site.ts';
import type { Event, Frame, ProgramProfile } from '../../runtime/events/event.ts';
import { leaks } from '../../runtime/events/leaks.ts';
import { createLedger } from '../../runtime/events/ledger.ts';
import type { Change } from '../../runtime/events/ledger.ts';
import { peak } from '../../runtime/events/peak.ts';
import { rounds } from '../../runtime/events/rounds.ts';
import type { Alive } from '../../runtime/events/peak.ts';
import type { Growth } from '../../runtime/events/rounds.ts';
import type { FunctionReport, JitReport, LiveArray, ProfileReport } from '../protocol.ts';

type Places = ReadonlyMap<number, readonly Frame[]>;
type Device = Extract<Event, { kind: 'device' }>;

/** What the run says of itself besides its events. */
export interface RunFacts {
  readonly entry: string;
  readonly wallMs: number;
  readonly exitCode: number | null;
  readonly notes: readonly string[];
}

export interface Reporter {
  take(event: Event): Change | undefined;
  report(facts: RunFacts): ProfileReport;
  readonly places: Places;
}

export function createReporter(): Reporter {
  const ledger = createLedger();
  const { places } = ledger;
  const folds = { peak: peak(), lines: bySite(places), functions: byFunction(places), leaks: leaks(places), rounds: rounds() };
  const devices: Device[] = [];
  const warnings = new Set<string>();

  function take(event: Event): Change | undefined {
    if (event.kind === 'device') devices.push(event);
    if (event.kind === 'mark' && (event.name === 'warning' || event.name === 'lost')) warnings.add(event.text);
    const change = ledger.take(event);
    if (change === undefined) return undefined;
    for (const fold of Object.values(folds)) fold.take(change);
    return change;
  }

  function report({ entry, wallMs, exitCode, notes }: RunFacts): ProfileReport {
    const highest = folds.peak.result();
    const device = chosenDevice(devices);
    return {
      version: 1,
      entry,
      device: device === undefined ? null : { kind: device.device, adapter: device.adapter, software: device.software },
      peakBytes: highest.bytes,
      peakReservedBytes: highest.reservedBytes,
      liveBytesAtExit: highest.atEndBytes,
      peakAt: highest.place === undefined ? null : siteOf(places, highest.place),
      lines: linesAtPeak(folds.lines.result(), highest.alive, places),
      functions: folds.functions.result().map((one) => functionReport(one, places)),
      liveAtPeak: highest.alive.map((alive) => liveArray(alive, places)).toSorted((a, b) => b.bytes - a.bytes),
      leaks: folds.leaks.result().toSorted((a, b) => b.bytes - a.bytes),
      wallMs,
      exitCode,
      notes: [...notes, ...growthNote(folds.rounds.result()), ...warnings],
    };
  }

  return { take, report, places };
}

const growthNote = (growth: Growth | undefined): readonly string[] =>
  growth === undefined ? [] : [`memory grew by ${writeBytes(growth.bytesPerRound)} in each of the last of ${growth.rounds} rounds`];

/** The device that ran the arrays: our runtime's, else a GPU with its adapter's name, else a library's backend. */
function chosenDevice(devices: readonly Device[]): Device | undefined {
  return (
    devices.findLast((one) => one.layer === 'tidemark') ??
    devices.findLast((one) => one.layer === 'webgpu' && one.device === 'webgpu') ??
    devices.findLast((one) => one.device !== 'cpu') ??
    devices.at(-1)
  );
}

function functionReport(one: FunctionTotals, places: Places): FunctionReport {
  const { file, name, line, calls, peakBytes, enteredBytes, compiled } = one;
  return {
    file,
    name,
    line,
    calls,
    peakBytes,
    enteredBytes,
    jit: compiled === undefined ? null : jitReport(compiled.traces, compiled.profile, places),
  };
}

function jitReport(traces: number, profile: ProgramProfile, places: Places): JitReport {
  const { argumentBytes, outputBytes, aliasBytes, tempBytes, peakBytes, lowerBoundBytes, orderLowerBoundBytes, gap, donated, whatIf } =
    profile;
  const copies = profile.copies.map(({ bytes, place, reason }) => {
    const { file, line } = siteOf(places, place);
    return { bytes, file, line, reason };
  });
  return {
    traces,
    argumentBytes,
    outputBytes,
    aliasBytes,
    tempBytes,
    peakBytes,
    lowerBoundBytes,
    orderLowerBoundBytes,
    gap,
    copies,
    donated,
    whatIf,
  };
}

function liveArray(alive: Alive, places: Places): LiveArray {
  const { file, line } = siteOf(places, placeOf(alive));
  const bytes = bytesOf(alive);
  if (alive.kind === 'value')
    return { bytes, shape: alive.value.shape, dtype: alive.value.dtype, kind: alive.value.what === 'temp' ? 'temp' : 'array', file, line };
  const { shape, dtype, what } = alive.allocation;
  const staging = what === 'staging' ? { staging: true } : {};
  return { bytes, shape: shape ?? null, dtype: dtype ?? null, kind: what === 'staging' ? 'buffer' : what, file, line, ...staging };
}
