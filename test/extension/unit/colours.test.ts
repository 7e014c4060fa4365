/**
 * The colours of lines and numbers in the editor can be told from its background, in every kind of theme.
 *
 * Backgrounds are those of the editor's own themes; the ratio is that of WCAG 2.1 (1.4.11 asks 3:1 of lines, 1.4.3 4.5:1 of text).
 * Depends on: package.json.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';

interface Colour {
  readonly id: string;
  readonly defaults: Readonly<Record<string, string>>;
}

const root = path.resolve(import.meta.dirname, '../../..');
const { colors } = (JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { contributes: { colors: readonly Colour[] } })
  .contributes;

const backgrounds: Readonly<Record<string, readonly string[]>> = {
  light: ['#ffffff'],
  dark: ['#1e1e1e', '#1f1f1f', '#121314'],
  highContrast: ['#000000'],
  highContrastLight: ['#ffffff'],
};
const lines = ['tidemark.alive', 'tidemark.maybeAlive', 'tidemark.donated', 'tidemark.peak'];
const texts = ['tidemark.stale'];

function luminance(colour: string): number {
  const channels = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
  const [red, green, blue] = channels.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light! + 0.05) / (dark! + 0.05);
}

describe('colours of the extension', () => {
  it('measures contrast as WCAG does', () => {
    assert.equal(contrast('#ffffff', '#000000'), 21);
    assert.equal(Math.round(contrast('#777777', '#ffffff') * 100) / 100, 4.48);
  });

  for (const [ids, least] of [
    [lines, 3],
    [texts, 4.5],
  ] as const) {
    for (const id of ids) {
      it(`${id} has at least ${least}:1 in every kind of theme`, () => {
        const { defaults } = colors.find((one) => one.id === id)!;
        const faint = Object.entries(backgrounds).flatMap(([kind, all]) =>
          all
            .map((background) => [kind, background, contrast(defaults[kind]!, background)] as const)
            .filter(([, , ratio]) => ratio < least),
        );
        assert.deepEqual(faint, []);
      });
    }
  }
});
