/**
 * Bytes of a texture: blocks of its format, over all mip levels, layers and samples.
 *
 * A table of formats by bytes per block; what a driver adds for alignment is its own business and is not counted.
 * Depth formats that leave the choice to the driver count at four bytes a texel. Depends on: nothing.
 */
interface Block {
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
}

export interface TextureExtent {
  readonly format: string;
  readonly width: number;
  readonly height: number;
  readonly depthOrArrayLayers: number;
  readonly mipLevelCount: number;
  readonly sampleCount: number;
  readonly dimension: string;
}

export function textureBytes(texture: TextureExtent): number {
  const block = blockOf(texture.format);
  let bytes = 0;
  for (let level = 0; level < texture.mipLevelCount; level += 1) {
    const width = Math.max(1, texture.width >> level);
    const height = texture.dimension === '1d' ? 1 : Math.max(1, texture.height >> level);
    const depth = texture.dimension === '3d' ? Math.max(1, texture.depthOrArrayLayers >> level) : texture.depthOrArrayLayers;
    bytes += Math.ceil(width / block.width) * Math.ceil(height / block.height) * depth * block.bytes;
  }
  return bytes * texture.sampleCount;
}

function blockOf(format: string): Block {
  const astc = /^astc-(\d+)x(\d+)/.exec(format);
  if (astc !== null) return { bytes: 16, width: Number(astc[1]), height: Number(astc[2]) };
  const compressed = compressedBytes.find(([name]) => name.test(format));
  if (compressed !== undefined) return { bytes: compressed[1], width: 4, height: 4 };
  return { bytes: special[format] ?? plainBytes(format), width: 1, height: 1 };
}

const compressedBytes: readonly (readonly [RegExp, number])[] = [
  [/^bc[14]-/, 8],
  [/^bc[23567]/, 16],
  [/^etc2-rgb8(unorm|a1)/, 8],
  [/^etc2-rgba8/, 16],
  [/^eac-r11/, 8],
  [/^eac-rg11/, 16],
];

const special: Readonly<Record<string, number>> = {
  rgb9e5ufloat: 4,
  rgb10a2uint: 4,
  rgb10a2unorm: 4,
  rg11b10ufloat: 4,
  stencil8: 1,
  depth16unorm: 2,
  depth24plus: 4,
  'depth24plus-stencil8': 4,
  depth32float: 4,
  'depth32float-stencil8': 8,
};

/** Formats like `rgba16float`: channels times bits. */
function plainBytes(format: string): number {
  const parts = /^(r|rg|rgba|bgra)(8|16|32)/.exec(format);
  return parts === null ? 4 : (parts[1]!.length * Number(parts[2])) / 8;
}
