/**
 * Numbers and lines for people: bytes in IEC units, colour only where it is shown.
 *
 * Depends on: core.
 */
import { writeBytes } from '../../runtime/core/bytes.ts';

/** 25165824 -> `24.0 MiB`. */
export const bytesText = writeBytes;

/** With its sign: `+4.0 MiB`, `-8.0 MiB`, `±0 B`. */
export const differenceText = (bytes: number): string =>
  bytes === 0 ? '±0 B' : bytes > 0 ? `+${bytesText(bytes)}` : `−${bytesText(-bytes)}`;

export type Paint = (style: keyof typeof styles, text: string) => string;

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

export const paint =
  (color: boolean): Paint =>
  (style, text) =>
    color ? `\u001b[${styles[style]}m${text}\u001b[0m` : text;

/** `1 array`, `3 arrays`. */
export const counted = (count: number, noun: string): string => `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;

/** Columns aligned by their widest cell; numbers to the right. */
export function tableText(rows: readonly (readonly string[])[], right: ReadonlySet<number>): string {
  const widths = rows.reduce<number[]>((known, row) => row.map((cell, i) => Math.max(known[i] ?? 0, cell.length)), []);
  return rows
    .map((row) =>
      row
        .map((cell, i) => (right.has(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
