/**
 * The allocator at one moment: each slab a bar, its pieces where they lie, the holes between them left empty.
 *
 *     slab 1, 64 MiB   |## a ##|   |# b #|#### c ####|        |   12 MiB free in 2 holes, the largest 8 MiB
 *
 * Depends on: messages, texts, core/bytes.
 */
import { writeBytes } from '../../../runtime/core/bytes.ts';
import { nowhere, type Recording, type Site, type Slab } from '../messages.ts';
import { t } from './texts.ts';

export interface Piece {
  readonly block: number;
  readonly offset: number;
  readonly bytes: number;
}

export interface SlabState {
  readonly slab: Slab;
  readonly pieces: readonly Piece[];
  readonly holes: readonly { readonly offset: number; readonly bytes: number }[];
}

const alignment = 256;

/** The slabs that are there after a step, with what lies in them. */
export function slabsAt(recording: Recording, step: number): readonly SlabState[] {
  const { slabs, slab, offset, bytes, born, died } = recording;
  const there = slabs.map((one) => one.born <= step && step < one.died);
  const pieces = slabs.map((): Piece[] => []);
  if (!there.includes(true)) return [];
  for (let block = 0; block < born.length; block += 1) {
    const at = slab[block]!;
    if (at === nowhere || born[block]! > step || died[block]! <= step || !there[at]) continue;
    pieces[at]!.push({ block, offset: offset[block]!, bytes: bytes[block]! });
  }
  return slabs.flatMap((one, i) => {
    if (!there[i]) return [];
    const inside = pieces[i]!.sort((a, b) => a.offset - b.offset);
    return [{ slab: one, pieces: inside, holes: holesOf(one, inside) }];
  });
}

function holesOf({ bytes }: Slab, pieces: readonly Piece[]): SlabState['holes'] {
  const holes: { offset: number; bytes: number }[] = [];
  let at = 0;
  for (const piece of [...pieces, { offset: bytes, bytes: 0 }]) {
    if (piece.offset > at) holes.push({ offset: at, bytes: piece.offset - at });
    at = Math.max(at, piece.offset + Math.ceil(piece.bytes / alignment) * alignment);
  }
  return holes;
}

/** 1 - largest hole / all free bytes, as the runtime's own statistics count it; 0 when nothing is free. */
export function fragmentation(states: readonly SlabState[]): number {
  const holes = states.flatMap((state) => state.holes.map(({ bytes }) => bytes));
  const free = holes.reduce((sum, bytes) => sum + bytes, 0);
  return free === 0 ? 0 : 1 - Math.max(...holes) / free;
}

export interface SlabsContext {
  readonly recording: Recording;
  readonly colour: (site: number) => string;
  readonly words: (site: Site) => string;
  readonly open: (site: Site) => void;
}

/** More pieces than this in one slab are drawn, but not focused one by one. */
const mostFocusable = 200;

export function showSlabs(into: HTMLElement, step: number, context: SlabsContext): void {
  const states = slabsAt(context.recording, step);
  into.hidden = states.length === 0;
  if (states.length === 0) return into.replaceChildren();
  const reserved = states.reduce((sum, { slab }) => sum + slab.bytes, 0);
  const held = states.reduce((sum, { pieces }) => sum + pieces.reduce((all, { bytes }) => all + bytes, 0), 0);
  const title = document.createElement('h3');
  title.textContent = t(
    'Allocator: {0} of {1} reserved are used, slabs: {2}, fragmentation {3} %',
    writeBytes(held),
    writeBytes(reserved),
    states.length,
    (fragmentation(states) * 100).toFixed(0),
  );
  into.replaceChildren(title, ...states.map((state, i) => bar(state, i, context)));
}

function bar({ slab, pieces, holes }: SlabState, index: number, context: SlabsContext): HTMLElement {
  const { recording, colour, words, open } = context;
  const row = document.createElement('div');
  row.className = 'slab';
  const free = holes.reduce((sum, { bytes }) => sum + bytes, 0);
  const largest = Math.max(0, ...holes.map(({ bytes }) => bytes));
  const label = Object.assign(document.createElement('span'), {
    textContent:
      free === 0
        ? t('slab {0}, {1}: full', index + 1, writeBytes(slab.bytes))
        : t(
            'slab {0}, {1}: {2} free, holes: {3}, the largest {4}',
            index + 1,
            writeBytes(slab.bytes),
            writeBytes(free),
            holes.length,
            writeBytes(largest),
          ),
  });
  const strip = document.createElement('div');
  strip.className = 'strip';
  for (const { block, offset, bytes } of pieces) {
    const site = recording.sites[recording.blockSite[block]!]!;
    const piece = document.createElement(pieces.length <= mostFocusable ? 'button' : 'div');
    const text = t('{0}, {1} at {2}, {3}', recording.labels[recording.label[block]!]!, writeBytes(bytes), writeBytes(offset), words(site));
    piece.title = text;
    piece.setAttribute('aria-label', text);
    piece.style.left = `${(offset / slab.bytes) * 100}%`;
    piece.style.width = `${(bytes / slab.bytes) * 100}%`;
    piece.style.background = colour(recording.blockSite[block]!);
    piece.addEventListener('click', () => open(site));
    strip.append(piece);
  }
  row.append(label, strip);
  return row;
}
