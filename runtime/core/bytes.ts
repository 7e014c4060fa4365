/**
 * Bytes as people read and write them: IEC units, one form everywhere.
 *
 * `writeBytes(25165824)` is `24.0 MiB`; `readBytes('64 MiB')` is 67108864. Depends on: nothing.
 */
const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** Three digits that matter: `812 B`, `1.50 KiB` is never written, `1.5 KiB` is; whole bytes stay whole. */
export function writeBytes(bytes: number): string {
  let unit = 0;
  let value = Math.abs(bytes);
  while (unit + 1 < units.length && Number(value.toFixed(unit === 0 ? 0 : 1)) >= 1024) {
    value /= 1024;
    unit += 1;
  }
  const sign = bytes < 0 ? '−' : '';
  return `${sign}${unit === 0 ? String(Math.round(value)) : value.toFixed(value < 999.95 ? 1 : 0)} ${units[unit]}`;
}

/** Bytes of a text such as `64 MiB`, `1.5G` or `4096`; undefined when it is none. `K`, `M`, `G` count by 1024. */
export function readBytes(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(?:([KMGTP])(?:i?B)?|B)?\s*$/i.exec(text);
  if (match === null) return undefined;
  const power = match[2] === undefined ? 0 : 'KMGTP'.indexOf(match[2].toUpperCase()) + 1;
  return Math.round(Number(match[1]) * 1024 ** power);
}
