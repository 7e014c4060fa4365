/**
 * Instances for the tests of planner and scheduler: random ones by fast-check, and files.
 *
 * Depends on: fast-check, runtime/plan, runtime/compile/order.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { readInstance } from '../../language-server/cli/plan-csv.ts';
import type { Graph, Input, Node } from '../../runtime/compile/order/graph.ts';
import type { Buffer, Gap } from '../../runtime/plan/problem.ts';

const here = dirname(fileURLToPath(import.meta.url));

/** The folder with instances that are not part of the project; undefined when it is not there. */
export function sharedPacking(): string | undefined {
  const folder = join(process.env['TIDEMARK_SHARED'] ?? resolve(here, '../../../shared'), 'data/packing');
  return existsSync(folder) ? folder : undefined;
}

export const packing = (folder: string, file: string): readonly Buffer[] =>
  readInstance(readFileSync(join(folder, file), 'utf8'), file).buffers;

/** Buffers of a short program; sizes are small, so that many are alike and many fit exactly. */
export const someBuffers = (most = 14): fc.Arbitrary<Buffer[]> =>
  fc.array(
    fc
      .record({
        bytes: fc.integer({ min: 0, max: 12 }),
        born: fc.integer({ min: 0, max: 10 }),
        life: fc.integer({ min: 0, max: 6 }),
        alignment: fc.constantFrom(undefined, 1, 2, 4),
      })
      .map(({ bytes, born, life, alignment }) => ({ bytes, born, dies: born + life, ...(alignment !== undefined && { alignment }) })),
    { minLength: 1, maxLength: most },
  );

/** The same, some with a gap in the middle of their life. */
export const someGapped: fc.Arbitrary<Buffer[]> = someBuffers().map((buffers) =>
  buffers.map((buffer, i): Buffer => {
    if (i % 2 === 0 || buffer.dies - buffer.born < 3 || buffer.bytes < 2) return buffer;
    const gap: Gap = { from: buffer.born + 1, to: buffer.dies - 1, ...(i % 4 === 1 && { keeps: { from: 1, to: buffer.bytes } }) };
    return { ...buffer, gaps: [gap] };
  }),
);

/** Some node reads: values made so far, by number; sizes equal now and then, so that results may take over. */
export const someGraph: fc.Arbitrary<Graph> = fc
  .record({
    inputs: fc.array(fc.record({ bytes: fc.integer({ min: 0, max: 7 }), donated: fc.boolean() }), { minLength: 1, maxLength: 3 }),
    nodes: fc.array(
      fc.record({
        reads: fc.array(fc.nat(), { minLength: 0, maxLength: 3 }),
        bytes: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 2 }),
        scratch: fc.nat(3),
        takes: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    outputs: fc.array(fc.nat(), { maxLength: 3 }),
  })
  .map((drawn) => {
    const bytes = drawn.inputs.map((input) => input.bytes);
    const inputs = drawn.inputs.map(({ donated }, value): Input => ({ value, donated }));
    const nodes = drawn.nodes.map(({ reads: picks, bytes: sizes, scratch, takes }): Node => {
      const reads = picks.map((pick) => pick % bytes.length);
      const makes = sizes.map((size, i) => bytes.push(takes && reads[i] !== undefined ? bytes[reads[i]]! : size) - 1);
      return { reads, makes, scratch, overwrites: takes ? makes.flatMap((result) => reads.map((operand) => ({ result, operand }))) : [] };
    });
    return { bytes, inputs, nodes, outputs: drawn.outputs.map((pick) => pick % bytes.length) };
  });

export interface KnownGraph {
  readonly name: string;
  readonly graph: Graph;
  readonly optimalPeak: number;
  readonly oneOptimalOrder: readonly number[];
  readonly byRule: Readonly<Record<string, number>>;
}

interface GraphFile {
  readonly name: string;
  readonly inputs: readonly { readonly id: string; readonly size: number; readonly donated: boolean }[];
  readonly nodes: readonly {
    readonly id: string;
    readonly in: readonly string[];
    readonly size: number;
    readonly scratch?: number;
    readonly inPlace?: readonly string[];
  }[];
  readonly outputs: readonly string[];
  readonly optimalPeak: number;
  readonly oneOptimalOrder: readonly string[];
  readonly heuristics: Readonly<Record<string, number>>;
}

export function knownGraphs(folder = join(here, 'schedule')): KnownGraph[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => known(JSON.parse(readFileSync(join(folder, file), 'utf8')) as GraphFile));
}

function known(file: GraphFile): KnownGraph {
  const numbers = new Map([...file.inputs, ...file.nodes].map(({ id }, value) => [id, value]));
  const value = (id: string): number => numbers.get(id)!;
  const graph: Graph = {
    bytes: [...file.inputs, ...file.nodes].map(({ size }) => size),
    inputs: file.inputs.map(({ id, donated }) => ({ value: value(id), donated })),
    nodes: file.nodes.map(({ id, in: reads, scratch = 0, inPlace = [] }) => ({
      reads: reads.map(value),
      makes: [value(id)],
      scratch,
      overwrites: inPlace.map((operand) => ({ result: value(id), operand: value(operand) })),
    })),
    outputs: file.outputs.map(value),
  };
  return {
    name: file.name,
    graph,
    optimalPeak: file.optimalPeak,
    oneOptimalOrder: file.oneOptimalOrder.map((id) => value(id) - file.inputs.length),
    byRule: file.heuristics,
  };
}

/** A clock that counts how often it was asked: work is bounded without time. */
export function countingClock(): () => number {
  let asked = 0;
  return () => asked++;
}
