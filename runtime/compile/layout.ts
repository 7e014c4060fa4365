/**
 * The order in which nodes run and the place of every stored value: regions, offsets, windows of time.
 *
 * Region 0 is the arena, region 1 + i the buffer of input i. What becomes of donations decides order and places but no
 * kernel. Used for whole programs and for the bodies of control flow, whose carries are donated inputs that have to hold
 * the next carries at the end. A layout at once is a pure function of the program; better ones come from a search without a
 * clock, as long as somebody asks. Depends on: core, plan, schedule, storage, fuse.
 */
import type { Pair } from '../core/donation.ts';
import type { Variable } from '../core/program.ts';
import { betterRegions, planRegions, type Placement, type Region, type RegionPlan, type Value } from '../plan/regions.ts';
import { leastBytes } from '../plan/bound.ts';
import { roundUp } from '../plan/problem.ts';
import { leastArenaBytes } from '../plan/region-bound.ts';
import type { Location } from './executable.ts';
import type { Fused, Node } from './fuse.ts';
import { overDonated } from './order/over.ts';
import { wire } from './order/walk.ts';
import { orders, type Graph, type Schedule } from './schedule.ts';
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
  /** An order, and perhaps places, to use as they are. */
  readonly choice?: Choice;
}

/** What a search decided about a program, in numbers that another trace of the same program can be laid out by. */
export interface Choice {
  /** Positions in `fused.nodes`. */
  readonly order: readonly number[];
  readonly orderLowerBoundBytes: number | null;
  /** Where everything goes, in the order in which places are asked for if just these inputs are donated; absent: by the quick orders. */
  readonly places?: { readonly donated: readonly boolean[]; readonly list: readonly Placement[] };
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
  readonly choice: Required<Choice>;
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

export function layout(given: LayoutInput): Layout {
  const choice = given.choice ?? orderAtOnce(given);
  const { places } = choice;
  const input = places === undefined ? given : { ...given, donated: places.donated };
  const scene = sceneOf(input, choice);
  const { wishes, regions } = scene;
  if (places === undefined) return settled(scene, planRegions(wishes, regions, { alignment }));
  const { list } = places;
  if (list.length !== wishes.length) throw new Error('internal: runtime/compile: places of another program');
  const arenaBytes = list.reduce(
    (top, { region, offset }, i) => (region === 0 ? Math.max(top, roundUp(offset + wishes[i]!.bytes, alignment)) : top),
    0,
  );
  const lowerBoundBytes = Math.min(arenaBytes, leastArenaBytes(wishes, regions, alignment));
  return settled(scene, { placements: new Map(wishes.map((wish, i) => [wish, list[i]!])), arenaBytes, lowerBoundBytes });
}

/**
 * The best layout so far after every few milliseconds of work; ends when order and places are proven best. Orders and
 * places are searched for in turn: a better order starts the search for places anew.
 */
export function* betterLayouts(input: LayoutInput, start: Layout): Generator<Layout, void> {
  if (input.fused.nodes.length === 0) return;
  let best = start;
  // A layout may be that for fewer donations.
  const own = start.choice.places.donated.every((flag, i) => flag === input.donated[i]) ? start : layout(input);
  const ordering = orders(graphOf(input));
  let step = ordering.next();
  let peakBytes = step.value.peakBytes;
  let packing = packed(input, own);
  for (let packs = true; packs || step.done !== true;) {
    if (step.done !== true) {
      step = ordering.next();
      if (step.value.peakBytes < peakBytes) {
        peakBytes = step.value.peakBytes;
        const found = layout({ ...input, choice: choiceOf(input, step.value) });
        if (found.arenaBytes < best.arenaBytes) [best, packing, packs] = [found, packed(input, found), true];
      }
      if (step.value.orderLowerBoundBytes > (best.orderLowerBoundBytes ?? 0)) best = boundedBy(best, step.value.orderLowerBoundBytes);
      yield best;
    }
    const next = packing.next();
    packs = next.done !== true;
    if (next.done !== true && next.value.arenaBytes < best.arenaBytes)
      best = boundedBy(next.value, Math.max(best.orderLowerBoundBytes ?? 0, step.value.orderLowerBoundBytes));
    yield best;
  }
}

const boundedBy = (one: Layout, orderLowerBoundBytes: number): Layout => ({
  ...one,
  orderLowerBoundBytes,
  choice: { ...one.choice, orderLowerBoundBytes },
});

/** Better places for the order that a layout has. */
function* packed(input: LayoutInput, start: Layout): Generator<Layout, void> {
  const scene = sceneOf(input, start.choice);
  const { wishes, regions } = scene;
  const at = new Map(wishes.map((wish, i) => [wish, start.choice.places.list[i]!]));
  let [last, best] = [start.arenaBytes, start];
  const plan = { placements: at, arenaBytes: start.arenaBytes, lowerBoundBytes: start.arenaBoundBytes };
  for (const better of betterRegions(wishes, regions, plan, { alignment })) {
    if (better.arenaBytes < last) [last, best] = [better.arenaBytes, settled(scene, better)];
    yield best;
  }
}

const choiceOf = (input: LayoutInput, { order, orderLowerBoundBytes }: Schedule): Choice => ({
  order: input.donated.includes(true) ? overDonated(wire(graphOf(input)), order) : order,
  orderLowerBoundBytes,
});

function orderAtOnce(input: LayoutInput): Choice {
  if (input.fused.nodes.length === 0) return { order: [], orderLowerBoundBytes: null };
  return choiceOf(input, orders(graphOf(input)).next().value);
}

/** An order, and what has to be placed because of it. */
interface Settling {
  readonly donated: readonly boolean[];
  readonly choice: Choice;
  readonly order: readonly Node[];
  readonly stored: Stored;
  readonly elsewhere: ReadonlyMap<Storage, Location>;
  readonly wishes: readonly Wish[];
  readonly regions: readonly Region[];
}

function sceneOf(input: LayoutInput, choice: Choice): Settling {
  const { fused, inputs, donated, outputs, scratchOf } = input;
  const order = choice.order.map((i) => fused.nodes[i]!);
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
  return { donated, choice, order, stored, elsewhere, wishes, regions };
}

function settled({ donated, choice, order, stored, elsewhere, wishes }: Settling, plan: RegionPlan<Wish>): Layout {
  const placements = wishes.map((wish) => plan.placements.get(wish)!);
  const places = new Map<Storage, Location>(elsewhere);
  const scratches = new Map<Node, Location>();
  const placed = wishes.map((wish, i): Placed => ({ ...wish, at: locationFrom(placements[i]!) }));
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
    orderLowerBoundBytes: choice.orderLowerBoundBytes,
    placed,
    choice: { ...choice, places: { donated, list: placements } },
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
