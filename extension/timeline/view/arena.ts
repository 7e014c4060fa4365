/**
 * The memory of compiled calls: each value a rectangle, its place in the region over the steps it lives.
 *
 *   offset ^  [ h1      ]
 *          |  [ x ][ grad    ]
 *          +-------------------> steps of the schedule
 *
 * Depends on: messages, raster, texts, core/bytes.
 */
import { writeBytes } from '../../../runtime/core/bytes.ts';
import type { Arena, Site } from '../messages.ts';
import { palette } from './raster.ts';
import { t } from './texts.ts';

const svg = 'http://www.w3.org/2000/svg';

export function showArenas(into: HTMLElement, arenas: readonly Arena[], sites: readonly Site[], open: (site: Site) => void): void {
  into.replaceChildren();
  for (const arena of arenas.filter(({ values }) => values.length > 0)) {
    const title = document.createElement('h3');
    const bytes = arena.regions.reduce((sum, one) => sum + one, 0);
    title.textContent = t(
      '{0}: {1}, regions: {2}, values: {3}, steps: {4}',
      arena.name,
      writeBytes(bytes),
      arena.regions.length,
      arena.values.length,
      arena.steps,
    );
    into.append(title);
    arena.regions.forEach((regionBytes, region) => {
      if (regionBytes > 0) into.append(drawRegion(arena, region, regionBytes, sites, open));
    });
  }
  into.hidden = into.childElementCount === 0;
}

function drawRegion(arena: Arena, region: number, bytes: number, sites: readonly Site[], open: (site: Site) => void): SVGElement {
  const [width, height] = [1000, 180];
  const picture = document.createElementNS(svg, 'svg');
  const name = region === 0 ? t('arena') : t('buffer of argument {0}', region);
  picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
  picture.setAttribute('preserveAspectRatio', 'none');
  picture.setAttribute('role', 'img');
  picture.setAttribute('aria-label', t('{0} of {1}, {2}: time to the right, offset upwards', name, arena.name, writeBytes(bytes)));
  const colours = palette(Math.max(1, sites.length), !document.body.classList.contains('vscode-light'));
  for (const value of arena.values.filter((one) => one.region === region)) {
    const box = document.createElementNS(svg, 'rect');
    const x = (value.born / arena.steps) * width;
    const y = height - ((value.offset + value.bytes) / bytes) * height;
    const [red, green, blue] = colours[value.site] ?? [128, 128, 128];
    const attributes = {
      x,
      y,
      width: Math.max(1, ((value.dies - value.born) / arena.steps) * width - 1),
      height: Math.max(1, (value.bytes / bytes) * height - 1),
      fill: `rgb(${red} ${green} ${blue})`,
      tabindex: 0,
    };
    for (const [key, attribute] of Object.entries(attributes)) box.setAttribute(key, String(attribute));
    const site = sites[value.site]!;
    const words = document.createElementNS(svg, 'title');
    words.textContent = t(
      '{0}, {1} at offset {2}, steps {3} to {4}, {5}',
      value.label,
      writeBytes(value.bytes),
      writeBytes(value.offset),
      value.born,
      value.dies,
      `${site.file}:${site.line}${value.reuses ? `, ${t('over the bytes of another')}` : ''}`,
    );
    box.append(words);
    box.addEventListener('click', () => open(site));
    box.addEventListener('keydown', ({ key }) => {
      if (key === 'Enter') open(site);
    });
    picture.append(box);
  }
  return picture;
}
