/**
 * A generated program as a tree of lines, some of whose words are guards: what keeps it from leaking or failing.
 *
 * A mutant is the same tree printed without one guard; a smaller program is the same tree without one node. Lines can
 * be printed with a mark that runs before each, so that a run says which lines it reached and where it stopped; marks
 * stand on the line they speak of, so both prints have the same line numbers. Depends on: nothing.
 */
export type Dialect = 'tidemark' | 'tfjs' | 'jax-js' | 'webgpu';
export const dialects: readonly Dialect[] = ['tidemark', 'tfjs', 'jax-js', 'webgpu'];

export type GuardKind = 'dispose' | 'using' | 'ref' | 'scope' | 'return' | 'late';

/** Words that matter for memory; `without` is what stands there when they are forgotten (for `late`: a read after the end). Parts with one id go together. */
export interface Guard {
  readonly id: number;
  readonly kind: GuardKind;
  readonly text: string;
  readonly without: string;
}

export type Part = string | Guard;

export type Node =
  /** A statement on one line. */
  | { readonly kind: 'line'; readonly parts: readonly Part[] }
  /** `plain`: its body holds members, not statements. */
  | {
      readonly kind: 'block';
      readonly open: readonly Part[];
      readonly body: readonly Node[];
      readonly close: readonly Part[];
      readonly plain?: boolean;
    };

export interface Program {
  readonly dialect: Dialect;
  readonly seed: number;
  readonly nodes: readonly Node[];
  /** How many boolean parameters `main` takes before `out`. */
  readonly flags: number;
}

export interface Printing {
  /** Guards that are forgotten, by id. */
  readonly without?: ReadonlySet<number>;
  readonly marked?: boolean;
}

export function print({ nodes }: Program, { without = new Set(), marked = false }: Printing = {}): string {
  const lines: string[] = [];
  const word = (part: Part): string => (typeof part === 'string' ? part : without.has(part.id) ? part.without : part.text);
  const text = (parts: readonly Part[]): string => parts.map(word).join('');
  const add = (depth: number, parts: readonly Part[], mark: boolean): void => {
    const line = text(parts);
    if (line === '') return;
    lines.push(`${'  '.repeat(depth)}${mark && marked ? `at(${lines.length + 1}); ` : ''}${line}`);
  };
  const walk = (node: Node, depth: number, statements: boolean): void => {
    if (node.kind === 'line') return add(depth, node.parts, statements);
    add(depth, node.open, statements && !/^[})]|^(async )?function|^class|^(try|catch|finally|else)\b/.test(text(node.open)));
    for (const inner of node.body) walk(inner, depth + 1, node.plain !== true);
    add(depth, node.close, false);
  };
  for (const node of nodes) walk(node, 0, false);
  return `${lines.join('\n')}\n`;
}

/** Every guard of a program once, in the order of its text. */
export function guards(program: Program): readonly Guard[] {
  const found = new Map<number, Guard>();
  const take = (parts: readonly Part[]): void => {
    for (const part of parts) if (typeof part !== 'string' && !found.has(part.id)) found.set(part.id, part);
  };
  const walk = (node: Node): void => {
    if (node.kind === 'line') return take(node.parts);
    take(node.open);
    node.body.forEach(walk);
    take(node.close);
  };
  program.nodes.forEach(walk);
  return [...found.values()];
}

/** Drops nodes as long as `still` holds: what is printed when a property fails. */
export async function smallest(program: Program, still: (smaller: Program) => Promise<boolean>): Promise<Program> {
  let best = program;
  for (let progress = true; progress;) {
    progress = false;
    for (const candidate of smaller(best.nodes)) {
      const next = { ...best, nodes: candidate };
      if (await still(next).catch(() => false)) {
        best = next;
        progress = true;
        break;
      }
    }
  }
  return best;
}

/** All trees with one node less, big nodes first. */
function* smaller(nodes: readonly Node[]): Generator<readonly Node[]> {
  for (const [index, node] of nodes.entries()) {
    const without = [...nodes.slice(0, index), ...nodes.slice(index + 1)];
    yield without;
    if (node.kind !== 'block') continue;
    for (const body of smaller(node.body)) yield [...nodes.slice(0, index), { ...node, body }, ...nodes.slice(index + 1)];
  }
}
