/**
 * Where the lines of the bytes axis are drawn.
 *
 * Depends on: nothing.
 */

/** At most six lines at round numbers of their unit. */
export function ticks(bytes: number): readonly number[] {
  const unit = 1024 ** Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1024));
  const raw = bytes / unit / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = unit * power * ([1, 2, 5, 10].find((n) => n * power >= raw) ?? 10);
  return Array.from({ length: Math.floor(bytes / step) }, (_, index) => (index + 1) * step);
}
