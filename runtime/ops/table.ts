/**
 * All entries by id: what a test, the documentation and the analysis walk.
 *
 * Depends on: every file of ops.
 */
import type { Entry } from './apply.ts';
import * as collective from './collective.ts';
import * as compare from './compare.ts';
import * as elementwise from './elementwise.ts';
import * as gather from './gather.ts';
import * as matmul from './matmul.ts';
import * as pick from './pick.ts';
import * as reduce from './reduce.ts';
import * as shape from './shape.ts';

const isEntry = (value: unknown): value is Entry =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && 'infer' in value && 'body' in value && 'batch' in value;

/** Entries of a family are found by what they are, so an entry can't be forgotten here. */
const entriesOf = (module: object): readonly Entry[] => Object.values(module).filter(isEntry);

export const table: ReadonlyMap<string, Entry> = new Map(
  [elementwise, compare, reduce, shape, matmul, gather, pick, collective]
    .flatMap(entriesOf)
    .concat(Object.values(gather.scatterEntries))
    .map((entry): [string, Entry] => [entry.id, entry]),
);
