/**
 * The arrays alive at a moment as a table: what the chart says in colour, in words.
 *
 * Up, Down, Home and End go from row to row, Enter opens the line. Depends on: messages, series, texts, core/bytes.
 */
import { writeBytes } from '../../../runtime/core/bytes.ts';
import type { Recording, Site } from '../messages.ts';
import type { AliveRow } from './series.ts';
import { t } from './texts.ts';

const mostRows = 400;

export interface TableContext {
  readonly recording: Recording;
  readonly colour: (site: number) => string;
  readonly words: (site: Site) => string;
  readonly open: (site: Site) => void;
}

export function fillRows(body: HTMLElement, rows: readonly AliveRow[], context: TableContext): void {
  const shown = rows.slice(0, mostRows).map((row) => tableRow(row, context));
  body.replaceChildren(...shown, ...(rows.length > mostRows ? [more(rows.length - mostRows)] : []));
}

function tableRow({ site, label, bytes, count }: AliveRow, { recording, colour, words, open }: TableContext): HTMLElement {
  const place = recording.sites[site]!;
  const row = document.createElement('tr');
  const button = Object.assign(document.createElement('button'), { textContent: words(place), disabled: place.line === 0 });
  button.addEventListener('click', () => open(place));
  const swatch = Object.assign(document.createElement('span'), { className: 'swatch', ariaHidden: 'true' });
  swatch.style.background = colour(site);
  const cells = [writeBytes(bytes), count > 1 ? `${recording.labels[label]} ×${count.toLocaleString()}` : recording.labels[label]!];
  for (const text of cells) row.append(Object.assign(document.createElement('td'), { textContent: text }));
  const where = document.createElement('td');
  where.append(swatch, button);
  row.append(where);
  return row;
}

function more(count: number): HTMLElement {
  const row = document.createElement('tr');
  row.append(Object.assign(document.createElement('td'), { colSpan: 3, textContent: t('and {0} more kinds', count.toLocaleString()) }));
  return row;
}

/** Keys that move the focus between the rows' buttons. */
export function walkRows(body: HTMLElement): void {
  body.addEventListener('keydown', (event) => {
    const buttons = [...body.querySelectorAll<HTMLButtonElement>('button:not(:disabled)')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    const target = to === undefined || at < 0 ? undefined : buttons[Math.max(0, Math.min(buttons.length - 1, to))];
    if (target === undefined) return;
    event.preventDefault();
    target.focus();
  });
}
