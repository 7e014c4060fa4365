/**
 * Paints columns into pixels: bands on each other, the largest at the bottom, one write per pixel.
 *
 * Painting pixels costs the same for ten arrays and for a million; paths of thirty bands cost ten times as much at this
 * width. Bands that are high enough end in a line, so that neighbours are apart without colour. Colours come in as packed
 * pixels. Depends on: series.
 */
import type { Columns } from './series.ts';

export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** One pixel each, packed as the machine packs `ImageData`. */
  readonly pixels: Uint32Array;
}

export interface Ink {
  /** One for each band. */
  readonly colours: Uint32Array;
  /** The line at the upper end of a band. */
  readonly line: number;
}

/** A band of fewer pixels has no line: it would be nothing else. */
const lined = 5;

export function paint({ pixels, width, height }: Canvas, shown: Columns, bands: number, { colours, line }: Ink, topBytes: number): void {
  pixels.fill(0);
  const scale = height / topBytes;
  for (let x = 0; x < shown.width; x += 1) {
    let bytes = 0;
    let bottom = height;
    for (let band = 0; band < bands; band += 1) {
      const own = shown.bands[x * bands + band]!;
      if (own <= 0) continue;
      bytes += own;
      const top = Math.max(0, Math.round(height - bytes * scale));
      const colour = colours[band]!;
      for (let y = top; y < bottom; y += 1) pixels[y * width + x] = colour;
      if (bottom - top >= lined) pixels[top * width + x] = line;
      bottom = Math.min(bottom, top);
    }
  }
}

/** The band under a pixel of a column; undefined above them all. */
export function bandAt(shown: Columns, bands: number, x: number, bytes: number): number | undefined {
  let sum = 0;
  for (let band = 0; band < bands; band += 1) {
    sum += shown.bands[x * bands + band] ?? 0;
    if (bytes < sum) return band;
  }
  return undefined;
}

/** Hues far apart for neighbours; two lightnesses, so that bands differ without colour too. */
export function palette(count: number, dark: boolean): readonly (readonly [red: number, green: number, blue: number])[] {
  return Array.from({ length: count }, (_, index) => {
    const hue = (190 + index * 137.508) % 360;
    const lightness = dark ? (index % 2 === 0 ? 0.56 : 0.44) : index % 2 === 0 ? 0.52 : 0.64;
    return fromHsl(hue, 0.52, lightness);
  });
}

function fromHsl(hue: number, saturation: number, lightness: number): readonly [number, number, number] {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number): number => {
    const k = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

export const packed = ([red, green, blue]: readonly [number, number, number], alpha: number): number =>
  ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
