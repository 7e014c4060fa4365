/**
 * Bytes of WebGL's textures: texels or blocks of the format that the program named, level by level.
 *
 * Formats stand under the number of bytes that a texel or block of them takes; what a driver adds for alignment, or takes
 * more for three channels, is its own business and is not counted. Depends on: nothing.
 */
export interface TexelSize {
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
}

export interface Extent {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
}

/** Formats that say the size themselves, by bytes a texel. */
const sized: Readonly<Record<number, readonly number[]>> = {
  1: [0x8229, 0x8f94, 0x8232, 0x8231, 0x8d48],
  2: [0x822d, 0x8234, 0x8233, 0x822b, 0x8f95, 0x8238, 0x8237, 0x8d62, 0x8057, 0x8056, 0x81a5],
  3: [0x8051, 0x8c41, 0x8f96, 0x8d7d, 0x8d8f],
  4: [
    0x822e, 0x8236, 0x8235, 0x822f, 0x823a, 0x8239, 0x8c3a, 0x8c3d, 0x8058, 0x8c43, 0x8f97, 0x8059, 0x8d7c, 0x8d8e, 0x906f, 0x81a6, 0x8cac,
    0x88f0, 0x84f9,
  ],
  6: [0x881b, 0x8d77, 0x8d89],
  8: [0x8230, 0x823c, 0x823b, 0x881a, 0x8d76, 0x8d88, 0x8cad],
  12: [0x8815, 0x8d71, 0x8d83],
  16: [0x8814, 0x8d82, 0x8d70],
};

const bytesOfFormat: ReadonlyMap<number, number> = new Map(
  Object.entries(sized).flatMap(([bytes, formats]) => formats.map((format) => [format, Number(bytes)] as const)),
);

/** Formats that leave the size to the type of a channel: how many channels. */
const channels: Readonly<Record<number, number>> = {
  0x1906: 1,
  0x1909: 1,
  0x1902: 1,
  0x1903: 1,
  0x190a: 2,
  0x8227: 2,
  0x1907: 3,
  0x1908: 4,
};
/** Types of a channel by their bytes; those that pack a whole texel are below. */
const channelBytes: Readonly<Record<number, number>> = {
  0x1400: 1,
  0x1401: 1,
  0x1402: 2,
  0x1403: 2,
  0x140b: 2,
  0x8d61: 2,
  0x1404: 4,
  0x1405: 4,
  0x1406: 4,
};
const packedBytes: Readonly<Record<number, number>> = { 0x8363: 2, 0x8033: 2, 0x8034: 2, 0x84fa: 4 };

/** Blocks of 4 by 4 texels. */
const blocksOf8: ReadonlySet<number> = new Set([0x83f0, 0x83f1, 0x9270, 0x9271, 0x9274, 0x9275, 0x9276, 0x9277]);
const blocksOf16: ReadonlySet<number> = new Set([0x83f2, 0x83f3, 0x9272, 0x9273, 0x9278, 0x9279, 0x8e8c, 0x8e8d, 0x8e8e, 0x8e8f]);
/** ASTC's blocks have 16 bytes, and these widths and heights, in the order of their formats. */
const astc: readonly (readonly [number, number])[] = [
  [4, 4],
  [5, 4],
  [5, 5],
  [6, 5],
  [6, 6],
  [8, 5],
  [8, 6],
  [8, 8],
  [10, 5],
  [10, 6],
  [10, 8],
  [10, 10],
  [12, 10],
  [12, 12],
];

/** A texel, or a block of them, of `format`; `type` is that of the pixels, where the format leaves the size to it. */
export function texelOf(format: number, type: number | undefined): TexelSize {
  const bytes = bytesOfFormat.get(format);
  if (bytes !== undefined) return { bytes, width: 1, height: 1 };
  if (blocksOf8.has(format)) return { bytes: 8, width: 4, height: 4 };
  if (blocksOf16.has(format)) return { bytes: 16, width: 4, height: 4 };
  const block = astc[format - (format >= 0x93d0 ? 0x93d0 : 0x93b0)];
  if (block !== undefined) return { bytes: 16, width: block[0], height: block[1] };
  const packed = type === undefined ? undefined : packedBytes[type];
  if (packed !== undefined) return { bytes: packed, width: 1, height: 1 };
  return { bytes: (channels[format] ?? 4) * (channelBytes[type ?? 0x1401] ?? 1), width: 1, height: 1 };
}

export const bytesOfExtent = ({ bytes, width, height }: TexelSize, extent: Extent): number =>
  Math.ceil(extent.width / width) * Math.ceil(extent.height / height) * extent.depth * bytes;

/** Levels from `first` up to, not including, `end`; `thins` says that the depth is halved too. */
export function bytesOfLevels(texel: TexelSize, extent: Extent, first: number, end: number, thins: boolean): number {
  let bytes = 0;
  for (let level = first; level < end; level += 1)
    bytes += bytesOfExtent(texel, {
      width: Math.max(1, extent.width >> level),
      height: Math.max(1, extent.height >> level),
      depth: thins ? Math.max(1, extent.depth >> level) : extent.depth,
    });
  return bytes;
}

/** How many levels a whole pyramid has. */
export const levelsOf = ({ width, height, depth }: Extent, thins: boolean): number =>
  1 + Math.floor(Math.log2(Math.max(width, height, thins ? depth : 1, 1)));
