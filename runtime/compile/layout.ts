/**
 * The order in which nodes run and the place of every stored value: regions, offsets, windows of time.
 *
 * Region 0 is the arena, region 1 + i the buffer of input i. What becomes of donations decides order and places but no
 * kernel. Used for whole programs and for the bodies of control flow, whose carries are donated inputs that have to hold
 * the next carries at the end. Depends on: core, plan, schedule, storage, fuse.
 */
import type { Pair } from '../core/donation.ts';
import type { Variable } from '../core/program.ts';
import { planRegions, type Placement, type Value } from '../plan/regions.ts';
import { leastBytes } from '../plan/bound.ts';
import type { Location } from './executable.ts';
import type { Fused, Node } from './fuse.ts';
import { order as schedule, type Graph } from './schedule.ts';
import { alignment, overwritable, rootOf, roundedBytes, store, type Storage, type Stored } from './storage.ts';

export interface LayoutInput {
  readonly fused: Fused;
  readonly inputs: readonly Variable[];
  readonly donated: readonly boolean[];
  readonly outputs: readonly Variable[];
  /** Bytes that a node needs only while it runs, and with what it writes over its operands; absent: at the least. */
  readonly scratchOf: (node: Node, stored?: Stored) => number;
  /** Outputs that go straight to a region of their own, outside this plan: output position -> region. */
  readonly elsewhere?: ReadonlyMap<number, number>;
  /** Bodies: which input's buffer an output may take, and no other: output position -> input position. */
  readonly takes?: ReadonlyMap<number, number>;
  /** Bodies: regions just large enough for an output that ends in them, free before that: output position -> region. */
  readonly rooms?: ReadonlyMap<number, number>;
  /** Milliseconds for the search after the quick answer; 0: none, which makes the layout a pure function of the program. */
  readonly searchMs: number;
  /** An order to use as it is. */
  readonly order?: readonly Node[];
  readonly now: () => number;
}

export interface Layout {
  readonly order: readonly Node[];
  readonly stored: Stored;
  readonly locationOf: (variable: Variable) => Location;
  readonly scratchAt: (node: Node) => Location | undefined;
  readonly arenaBytes: number;
  /** What the arena needs at least for this order and these donations. */
  readonly arenaBoundBytes: number;
  /** The most alive at one step, donated arguments counted only while they live. */
  readonly aliveBytes: number;
  readonly orderLowerBoundBytes: number | null;
  /** Everything that was placed, for the judge and for the analysis. */
  readonly placed: readonly Placed[];
}

export interface Placed extends Value {
  readonly storage?: Storage;
  readonly node?: Node;
  readonly at: Location;
}

interface Wish extends Value {
  readonly storage?: Storage;
  readonly node?: Node;
}

export function layout(input: LayoutInput): Layout {
  const { fused, inputs, donated, outputs, scratchOf, searchMs, now } = input;
  const graph = graphOf(input);
  const found =
    fused.nodes.length === 0 || input.order !== undefined
      ? undefined
      : schedule(graph, { now, until: searchMs > 0 ? now() + searchMs : -Infinity });
  const order = input.order ?? (found === undefined ? [] : found.order.map((i) => fused.nodes[i]!));
  const stored = store({ fused, order, inputs, donated, outputs });
  const elsewhere = elsewhereOf(input, stored);
  const own = (pair: Pair): boolean => mayTake(pair, input.takes);
  const pinned = new Map(stored.pairs.filter(own).map(({ input: from, output }) => [stored.storageOf(outputs[output]!), from]));
  const rooms = new Map([...(input.rooms ?? [])].map(([output, region]) => [stored.storageOf(outputs[output]!), region]));
  const wishes: Wish[] = [];
  for (const storage of stored.storages) {
    const fixedInput = storage.input ?? pinned.get(storage);
    if ((storage.input !== undefined && !donated[storage.input]) || elsewhere.has(storage)) continue;
    wishes.push({
      storage,
      bytes: storage.bytes,
      born: storage.born,
      dies: storage.dies,
      ...placeWish(fixedInput === undefined ? rooms.get(storage) : 1 + fixedInput, storage, input, stored),
    });
  }
  order.forEach((node, step) => {
    const bytes = scratchOf(node, stored);
    if (bytes > 0) wishes.push({ node, bytes, born: step, dies: step + 1 });
  });
  const regions = [
    { id: 0, kind: 'arena' as const, bytes: 0 },
    ...inputs.flatMap((variable, i) =>
      donated[i] && roundedBytes(variable.aval) > 0 ? [{ id: 1 + i, kind: 'donated' as const, bytes: roundedBytes(variable.aval) }] : [],
    ),
    ...[...rooms].map(([{ bytes }, id]) => ({ id, kind: 'donated' as const, bytes })),
  ];
  const plan = planRegions(wishes, regions, searchMs > 0 ? { alignment, deadline: { now, until: now() + searchMs } } : { alignment });
  const at = (wish: Wish): Location => locationFrom(plan.placements.get(wish)!);
  const places = new Map<Storage, Location>(elsewhere);
  const scratches = new Map<Node, Location>();
  const placed = wishes.map((wish): Placed => ({ ...wish, at: at(wish) }));
  for (const { storage, node, at: location } of placed) {
    if (storage !== undefined) places.set(storage, location);
    if (node !== undefined) scratches.set(node, location);
  }
  return {
    order,
    stored,
    locationOf(variable) {
      const storage = stored.storageOf(variable);
      return places.get(storage) ?? { region: 1 + storage.input!, offset: 0 };
    },
    scratchAt: (node) => scratches.get(node),
    arenaBytes: plan.arenaBytes,
    arenaBoundBytes: plan.lowerBoundBytes,
    aliveBytes: leastBytes(
      wishes.map(({ bytes, born, dies }) => ({ bytes, born, dies })),
      alignment,
    ),
    orderLowerBoundBytes: found?.orderLowerBoundBytes ?? null,
    placed,
  };
}

const mayTake = ({ input, output }: Pair, takes: LayoutInput['takes']): boolean => takes === undefined || takes.get(output) === input;

/** In a body nothing that has to be moved at the end may lie in a buffer that is moved into. */
function placeWish(
  region: number | undefined,
  storage: Storage,
  { takes, outputs }: LayoutInput,
  stored: Stored,
): Pick<Value, 'fixed' | 'regions'> {
  if (region !== undefined) return { fixed: { region, offset: 0 } };
  return takes !== undefined && outputs.some((variable) => stored.storageOf(variable) === storage) ? { regions: [0] } : {};
}

const locationFrom = ({ region, offset }: Placement): Location => ({ region: Number(region), offset });

function elsewhereOf({ outputs, elsewhere, takes }: LayoutInput, stored: Stored): Map<Storage, Location> {
  const found = new Map<Storage, Location>();
  for (const [output, region] of elsewhere ?? []) {
    const storage = stored.storageOf(outputs[output]!);
    if (
      storage.input === undefined &&
      !found.has(storage) &&
      !stored.pairs.some((pair) => mayTake(pair, takes) && stored.storageOf(outputs[pair.output]!) === storage)
    )
      found.set(storage, { region, offset: 0 });
  }
  return found;
}

/** The nodes as the search for an order sees them; values are roots of aliases, numbered as they come. */
function graphOf({ fused, inputs, donated, outputs, scratchOf }: LayoutInput): Graph {
  const numbers = new Map<Variable, number>();
  const bytes: number[] = [];
  const numberOf = (variable: Variable): number => {
    const root = rootOf(fused, variable);
    const known = numbers.get(root);
    if (known !== undefined) return known;
    numbers.set(root, bytes.length);
    bytes.push(roundedBytes(root.aval));
    return bytes.length - 1;
  };
  const inputList = inputs.map((variable, i) => ({ value: numberOf(variable), donated: donated[i] ?? false }));
  const nodes = fused.nodes.map((node) => ({
    reads: [...new Set(node.operands.map(numberOf))],
    makes: node.results.map(numberOf),
    scratch: scratchOf(node),
    overwrites: node.results.flatMap((variable, result) =>
      overwritable(node, result, (one) => rootOf(fused, one)).map((operand) => ({
        result: numberOf(variable),
        operand: numberOf(node.operands[operand]!),
      })),
    ),
  }));
  return { bytes, inputs: inputList, nodes, outputs: [...new Set(outputs.map(numberOf))] };
}
