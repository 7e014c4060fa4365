/**
 * Whether a text uses arrays of a known library, and by which names: quick, without types, for texts of any state.
 *
 * Depends on: protocol.
 */
import { knownModules } from '../protocol.ts';

const modules = knownModules.map((name) => name.replace(/[/.]/g, '\\$&')).join('|');
const imported = new RegExp(`(?:from|import|require\\s*\\()\\s*\\(?\\s*['"](?:${modules})(?:/[^'"]*)?['"]`);
const statement = new RegExp(`import\\s+(?!type\\b)([^'";]+?)\\s+from\\s+['"](?:${modules})(?:/[^'"]*)?['"]`, 'g');
const gpu = /\bnavigator\s*\.\s*gpu\b|\bGPUDevice\b/;

export const mentionsKnownModule = (text: string): boolean => imported.test(text) || gpu.test(text);

/** `tf`, `np`, `jit`: the local names of what is imported from known modules; types are none of them. */
export function importedNames(text: string): readonly string[] {
  return [...text.matchAll(statement)].flatMap(([, clause]) =>
    clause!
      .split(/[{},]/)
      .map((part) => part.trim())
      .filter((part) => part !== '' && !part.startsWith('type '))
      .map((part) =>
        part
          .split(/\s+as\s+/)
          .at(-1)!
          .trim(),
      )
      .filter((name) => /^[\w$]+$/.test(name)),
  );
}
