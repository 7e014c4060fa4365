/**
 * Watches the memory of WebGL: textures, renderbuffers and buffers, from the call that gives them room to the one that deletes them.
 *
 * An object of WebGL is only a name until it is given room, level by level or all at once, and it may be given other room
 * later: so each level of a texture is held by itself. What a call means is what is bound when it is made, and the context
 * knows that without asking the GPU. Depends on: holdings, recorder, webgl-bytes.
 */
import type { ArrayKind } from '../events/event.ts';
import { createHoldings, isSoftware } from './holdings.ts';
import type { Holding, HoldingOptions } from './holdings.ts';
import type { Recorder } from './recorder.ts';
import { bytesOfExtent, bytesOfLevels, levelsOf, texelOf } from './webgl-bytes.ts';
import type { Extent, TexelSize } from './webgl-bytes.ts';

/** What is used of a context. */
interface Context {
  getParameter(name: number): unknown;
  getExtension(name: string): unknown;
}

type Method = (this: Context, ...args: unknown[]) => unknown;
type Prototype = Record<string, Method | undefined>;

/** The classes of contexts; absent ones are left alone. */
export interface GLClasses {
  readonly WebGLRenderingContext?: { readonly prototype: object };
  readonly WebGL2RenderingContext?: { readonly prototype: object };
}

/** What one object holds, by the part of it that a call gives room to. */
interface Held {
  readonly parts: Map<string, Holding>;
  /** The largest level, which smaller ones are made from. */
  base: { readonly texel: TexelSize; readonly extent: Extent } | undefined;
}

const wrapped = Symbol.for('tidemark.webgl');

/** The binding that a target stands for; a face of a cube stands for the cube. */
const bindings: Readonly<Record<number, number>> = {
  0x0de1: 0x8069, // TEXTURE_2D
  0x8513: 0x8514, // TEXTURE_CUBE_MAP
  0x806f: 0x806a, // TEXTURE_3D
  0x8c1a: 0x8c1d, // TEXTURE_2D_ARRAY
  0x8d41: 0x8ca7, // RENDERBUFFER
  0x8892: 0x8894, // ARRAY_BUFFER
  0x8893: 0x8895, // ELEMENT_ARRAY_BUFFER
  0x8f36: 0x8f36, // COPY_READ_BUFFER
  0x8f37: 0x8f37, // COPY_WRITE_BUFFER
  0x88eb: 0x88ed, // PIXEL_PACK_BUFFER
  0x88ec: 0x88ef, // PIXEL_UNPACK_BUFFER
  0x8c8e: 0x8c8f, // TRANSFORM_FEEDBACK_BUFFER
  0x8a11: 0x8a28, // UNIFORM_BUFFER
};
const isFace = (target: number): boolean => target >= 0x8515 && target <= 0x851a;
const cube = 0x8513;
const threeDimensional = 0x806f;
/** Buffers that only carry values between the program and the GPU. */
const staging: ReadonlySet<number> = new Set([0x88eb, 0x88ec]);
const unmaskedRenderer = 0x9246;

export function watchWebGL(recorder: Recorder, classes: GLClasses, options: HoldingOptions): void {
  const holdings = createHoldings(recorder, 'webgl', options);
  const known = new WeakMap<object, Held>();
  const told = new WeakSet<Context>();

  function bound(context: Context, target: number): object | undefined {
    const object = context.getParameter(bindings[isFace(target) ? cube : target] ?? -1);
    return typeof object === 'object' && object !== null ? object : undefined;
  }

  function heldBy(object: object): Held {
    let held = known.get(object);
    if (held === undefined) known.set(object, (held = { parts: new Map(), base: undefined }));
    return held;
  }

  /** `part` of what is bound to `target` takes so many bytes from now on, in place of what it took before. */
  function given(context: Context, target: number, part: string, bytes: number, what: ArrayKind, below: Method): Held | undefined {
    const object = bound(context, target);
    if (object === undefined || !(bytes >= 0)) return undefined;
    tell(context);
    const held = heldBy(object);
    const before = held.parts.get(part);
    if (before !== undefined) holdings.died(before, 'destroy');
    const holding = holdings.born(bytes, what, '', below);
    held.parts.set(part, holding);
    holdings.livesIn(holding, object, () => holdings.died(holding, 'collected'));
    return held;
  }

  function level(context: Context, target: number, number: number, texel: TexelSize, extent: Extent, below: Method): void {
    const held = given(context, target, `${target} ${number}`, bytesOfExtent(texel, extent), 'texture', below);
    if (held !== undefined && number === 0) held.base = { texel, extent };
  }

  function allLevels(context: Context, target: number, levels: number, texel: TexelSize, extent: Extent, below: Method): void {
    const faces = target === cube ? 6 : 1;
    const bytes = faces * bytesOfLevels(texel, extent, 0, levels, target === threeDimensional);
    given(context, target, 'all', bytes, 'texture', below);
  }

  function smallerLevels(context: Context, target: number, below: Method): void {
    const object = bound(context, target);
    const held = object === undefined ? undefined : known.get(object);
    // Room that was given for all levels at once holds the smaller ones already.
    if (held?.base === undefined || held.parts.has('all')) return;
    const { texel, extent } = held.base;
    const thins = target === threeDimensional;
    const bytes = (target === cube ? 6 : 1) * bytesOfLevels(texel, extent, 1, levelsOf(extent, thins), thins);
    given(context, target, 'smaller', bytes, 'texture', below);
  }

  function deleted(object: unknown): void {
    const held = typeof object === 'object' && object !== null ? known.get(object) : undefined;
    if (held === undefined) return;
    for (const holding of held.parts.values()) holdings.died(holding, 'destroy');
    held.parts.clear();
  }

  function tell(context: Context): void {
    if (told.has(context)) return;
    told.add(context);
    const name = context.getExtension('WEBGL_debug_renderer_info') === null ? null : context.getParameter(unmaskedRenderer);
    const adapter = typeof name === 'string' && name !== '' ? name : 'unknown adapter';
    recorder.emit({ kind: 'device', at: recorder.now(), device: 'webgl', adapter, software: isSoftware(adapter), layer: 'webgl' });
  }

  const calls: Readonly<Record<string, (context: Context, args: readonly unknown[], below: Method) => void>> = {
    texImage2D(context, args, below) {
      const [target, number, format] = args.map(Number) as [number, number, number];
      // The short form takes its size from the picture.
      const [extent, type] = args.length > 6 ? [extentOf(args[3], args[4]), args[7]] : [extentOfPicture(args[5]), args[4]];
      level(context, target, number, texelOf(format, Number(type)), extent, below);
    },
    texImage3D(context, args, below) {
      const [target, number, format] = args.map(Number) as [number, number, number];
      level(context, target, number, texelOf(format, Number(args[8])), extentOf(args[3], args[4], args[5]), below);
    },
    copyTexImage2D(context, args, below) {
      const [target, number, format] = args.map(Number) as [number, number, number];
      level(context, target, number, texelOf(format, undefined), extentOf(args[5], args[6]), below);
    },
    compressedTexImage2D(context, args, below) {
      const [target, number, format] = args.map(Number) as [number, number, number];
      level(context, target, number, texelOf(format, undefined), extentOf(args[3], args[4]), below);
    },
    compressedTexImage3D(context, args, below) {
      const [target, number, format] = args.map(Number) as [number, number, number];
      level(context, target, number, texelOf(format, undefined), extentOf(args[3], args[4], args[5]), below);
    },
    texStorage2D(context, args, below) {
      const [target, levels, format] = args.map(Number) as [number, number, number];
      allLevels(context, target, levels, texelOf(format, undefined), extentOf(args[3], args[4]), below);
    },
    texStorage3D(context, args, below) {
      const [target, levels, format] = args.map(Number) as [number, number, number];
      allLevels(context, target, levels, texelOf(format, undefined), extentOf(args[3], args[4], args[5]), below);
    },
    generateMipmap: (context, [target], below) => smallerLevels(context, Number(target), below),
    renderbufferStorage(context, [target, format, width, height], below) {
      const bytes = bytesOfExtent(texelOf(Number(format), undefined), extentOf(width, height));
      given(context, Number(target), 'all', bytes, 'texture', below);
    },
    renderbufferStorageMultisample(context, [target, samples, format, width, height], below) {
      const bytes = Math.max(1, Number(samples)) * bytesOfExtent(texelOf(Number(format), undefined), extentOf(width, height));
      given(context, Number(target), 'all', bytes, 'texture', below);
    },
    bufferData(context, [target, source, , from, length], below) {
      const what = staging.has(Number(target)) ? 'staging' : 'buffer';
      given(context, Number(target), 'all', bytesOfSource(source, Number(from ?? 0), Number(length ?? 0)), what, below);
    },
    deleteTexture: (_context, [object]) => deleted(object),
    deleteRenderbuffer: (_context, [object]) => deleted(object),
    deleteBuffer: (_context, [object]) => deleted(object),
  };

  for (const kind of [classes.WebGLRenderingContext, classes.WebGL2RenderingContext]) {
    if (kind === undefined || wrapped in kind.prototype) continue;
    Object.defineProperty(kind.prototype, wrapped, { value: true });
    const prototype = kind.prototype as Prototype;
    for (const [name, seen] of Object.entries(calls)) {
      const original = prototype[name];
      if (typeof original !== 'function') continue;
      prototype[name] = function tidemarkWebGL(...args) {
        const result = original.apply(this, args);
        seen(this, args, prototype[name]!);
        return result;
      };
    }
  }
}

const extentOf = (width: unknown, height: unknown, depth: unknown = 1): Extent => ({
  width: Number(width),
  height: Number(height),
  depth: Number(depth),
});

/** An image, a canvas, a frame of a video: each has its own word for how large it really is. */
function extentOfPicture(picture: unknown): Extent {
  const sizes = (typeof picture === 'object' && picture !== null ? picture : {}) as Readonly<Record<string, unknown>>;
  const first = (...names: readonly string[]): unknown => names.map((name) => sizes[name]).find((size) => typeof size === 'number');
  return extentOf(
    first('videoWidth', 'naturalWidth', 'displayWidth', 'width') ?? 0,
    first('videoHeight', 'naturalHeight', 'displayHeight', 'height') ?? 0,
  );
}

/** `bufferData` takes a number of bytes, or values; of a typed array a part, counted in elements. */
function bytesOfSource(source: unknown, from: number, length: number): number {
  if (typeof source === 'number') return source;
  if (ArrayBuffer.isView(source)) {
    const element = 'BYTES_PER_ELEMENT' in source ? Number(source.BYTES_PER_ELEMENT) : 1;
    return length > 0 ? length * element : source.byteLength - from * element;
  }
  return source instanceof ArrayBuffer || (typeof SharedArrayBuffer === 'function' && source instanceof SharedArrayBuffer)
    ? source.byteLength
    : 0;
}
