/**
 * An array on the device: contents to be read, a life that ends by donation, disposal, a scope, or the collector.
 *
 * Depends on: core, ops, device.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { donationSpent, readAfterDispose, readAfterDonation, typeError } from '../core/errors.ts';
import type { HostArray } from '../core/interpreter.ts';
import type { Place } from '../core/source.ts';
import { printPlace, userPlace } from '../core/stack.ts';
import { Value, type Contents } from '../ops/value.ts';
import type { Buffer, Device, FreedBy } from '../device/device.ts';
import { adopt } from './scope.ts';

/** How an array died, for the message. */
export type Fate =
  | { readonly kind: 'donated'; readonly to: string; readonly path: string; readonly place: Place | undefined }
  | { readonly kind: 'freed'; readonly how: FreedBy; readonly place: Place | undefined };

// The last net: an array that nobody holds gives its buffer back, between tasks.
const forgotten = new FinalizationRegistry<{ readonly device: Device; readonly buffer: Buffer }>(({ device, buffer }) =>
  device.free(buffer, 'collected'),
);

export class DeviceArray extends Value {
  readonly aval: KnownAval;
  readonly device: Device;
  readonly buffer: Buffer;
  private fate: Fate | undefined;

  constructor(device: Device, buffer: Buffer, weak = false) {
    super();
    this.device = device;
    this.buffer = buffer;
    this.aval = weak ? { ...buffer.aval, weak: true } : buffer.aval;
    forgotten.register(this, { device, buffer }, this);
    adopt(this);
  }

  override get isDisposed(): boolean {
    return this.fate !== undefined || this.buffer.dead !== undefined;
  }

  /** Throws when its contents are gone, with where it was made and where it ended. */
  override ensureAlive(): void {
    const { dead } = this.buffer;
    if (this.fate === undefined && dead === undefined) return;
    if (dead?.because !== undefined) throw dead.because;
    const made = printPlace(this.buffer.place);
    const { fate } = this;
    if (fate?.kind === 'donated')
      throw readAfterDonation(
        `${printAval(this.aval)}${fate.path === '' ? '' : ` \`${fate.path}\``}`,
        `\`${fate.to}\``,
        printPlace(fate.place),
        made,
      );
    if (dead?.how === 'donate') throw readAfterDonation(printAval(this.aval), `\`${dead.to ?? 'a call'}\``, printPlace(dead.place), made);
    const place = fate?.place ?? dead?.place;
    const how = fate?.how ?? dead?.how;
    throw readAfterDispose(
      printAval(this.aval),
      how === 'scope' ? `the end of a scope` : how === 'lost' ? 'the loss of the device' : printPlace(place),
      made,
    );
  }

  /** From now on dead for the user: its buffer was given away. */
  markDonated(to: string, path: string, place: Place | undefined): void {
    this.fate = { kind: 'donated', to, path, place };
    forgotten.unregister(this);
  }

  /** Donated though no call took the buffer: this handle ends, others of the same buffer live on. */
  giveAway(to: string, path: string, place: Place | undefined): void {
    if (this.isDisposed) return;
    this.markDonated(to, path, place);
    this.device.free(this.buffer, 'program', place);
  }

  release(how: FreedBy, place?: Place): void {
    if (this.isDisposed) return;
    this.fate = { kind: 'freed', how, place };
    forgotten.unregister(this);
    this.device.free(this.buffer, how, place);
  }

  override dispose(): void {
    if (!this.isDisposed) this.release('dispose', userPlace());
  }

  override data(): Promise<HostArray> {
    this.ensureAlive();
    return this.device.read(this.buffer).then((contents) => readable(contents, this.aval));
  }
  override async item(): Promise<number> {
    this.single('item()');
    return (await this.data())[0]!;
  }
  override async jsAsync(): Promise<Contents> {
    return nested(await this.data(), this.aval);
  }
  override dataSync(): HostArray {
    this.ensureAlive();
    const { readSync } = this.device;
    if (readSync === undefined) throw syncRead('dataSync()', 'await x.data()', this.device.kind);
    return readable(readSync(this.buffer), this.aval);
  }
  override itemSync(): number {
    this.single('itemSync()');
    if (this.device.readSync === undefined) throw syncRead('itemSync()', 'await x.item()', this.device.kind);
    return this.dataSync()[0]!;
  }
  override js(): Contents {
    this.ensureAlive();
    if (this.device.readSync === undefined) throw syncRead('js()', 'await x.jsAsync()', this.device.kind);
    return nested(this.dataSync(), this.aval);
  }

  private single(reader: string): void {
    if (this.size !== 1) throw typeError(`\`${reader}\` needs an array of one element, and got ${printAval(this.aval)}: use data()`);
  }

  /** Resolves to the array when everything that it depends on has run. */
  async blockUntilReady(): Promise<this> {
    this.ensureAlive();
    await this.device.idle();
    return this;
  }
}

const syncRead = (reader: string, instead: string, device: string): TypeError =>
  typeError(`\`${reader}\` works on the cpu device only: on ${device} write \`${instead}\``);

/** What people get: float16 as numbers in a Float32Array. */
function readable(contents: HostArray, { dtype }: KnownAval): HostArray {
  return dtype === 'float16' ? Float32Array.from(contents, fromHalf) : contents;
}
export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const mantissa = bits & 0x3ff;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : NaN;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

function nested(contents: HostArray, { shape, dtype }: KnownAval): Contents {
  const at = (position: number): Contents => (dtype === 'bool' ? contents[position] !== 0 : contents[position]!);
  const build = (axis: number, offset: number): Contents => {
    if (axis === shape.length) return at(offset);
    const stride = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
    return Array.from({ length: shape[axis]! }, (_, k) => build(axis + 1, offset + k * stride));
  };
  return build(0, 0);
}

/** One use of an array by a call that may take its buffer: what `donate(x)` makes. */
export class DonatedArray extends Value {
  readonly source: DeviceArray;
  private spent = false;

  constructor(source: DeviceArray) {
    super();
    this.source = source;
  }
  get aval(): KnownAval {
    return this.source.aval;
  }
  override get isDisposed(): boolean {
    return this.source.isDisposed;
  }
  override ensureAlive(): void {
    this.claim();
  }

  /** The array behind it, for the one call that takes it. */
  claim(): DeviceArray {
    if (this.spent) throw donationSpent(printAval(this.aval), 'this donate(…) was used by a call before', this.madeAt());
    if (this.source.isDisposed) throw donationSpent(printAval(this.aval), 'the array is dead already', this.madeAt());
    return this.source;
  }
  private madeAt(): string {
    return printPlace(this.source.buffer.place);
  }
  /** After the call was submitted. */
  spend(): void {
    this.spent = true;
  }

  override dispose(): void {
    this.source.dispose();
  }
  override data(): Promise<HostArray> {
    return this.source.data();
  }
  override item(): Promise<number> {
    return this.source.item();
  }
  override jsAsync(): Promise<Contents> {
    return this.source.jsAsync();
  }
  override dataSync(): HostArray {
    return this.source.dataSync();
  }
  override itemSync(): number {
    return this.source.itemSync();
  }
  override js(): Contents {
    return this.source.js();
  }
}
