/**
 * Whether a workspace has anything for Tidemark to look at: only then is the server started.
 *
 * A dependency of a `package.json` counts, and so does an import (or `navigator.gpu`) in an open file.
 * Depends on: language-server/protocol.
 */
import { knownModules } from '../language-server/protocol.ts';

const known = new Set(knownModules);

/** The known modules that a `package.json` names; none for a text that isn't one. */
export function dependenciesOf(text: string): readonly string[] {
  const manifest = parsed(text);
  if (manifest === undefined) return [];
  const names = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].flatMap((key) => {
    const group = manifest[key];
    return typeof group === 'object' && group !== null ? Object.keys(group) : [];
  });
  if (typeof manifest['name'] === 'string') names.push(manifest['name']);
  return [...new Set(names.filter((name) => known.has(name)))];
}

/** Whether a source text uses arrays: quick and approximate, analysis decides later. */
export function usesArrays(text: string): boolean {
  return importsKnown.test(text) || /\bnavigator\s*\.\s*gpu\b|\bGPUDevice\b/.test(text);
}

const importsKnown = new RegExp(
  `(?:from|import|require\\s*\\()\\s*\\(?\\s*['"](?:${knownModules.map((name) => name.replace(/[/.]/g, '\\$&')).join('|')})(?:/[^'"]*)?['"]`,
);

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
