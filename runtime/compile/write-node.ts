/**
 * Writes the node of a group, or finds that an equal one was written already.
 *
 * What a kernel computes follows from the equations between its results and what it reads: two groups that agree there,
 * up to the variables' identity, have one kernel with other variables in its slots. Layers of one shape are written once, and
 * so are the forms that a program is tried in. Depends on: core, ops, collapse, kernel, kernel-builder, kernel-key, simplify, fuse (types).
 */
import { isLiteral, type Equation, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { collapsed } from './collapse.ts';
import type { Node, Overwrite } from './fuse.ts';
import type { Kernel } from './kernel.ts';
import { inPlacePairs, maxOperands, Unfit, writeKernel, type Definitions, type Group, type Written } from './kernel-builder.ts';
import { kernelKey } from './kernel-key.ts';
import { visit } from './scalar-walk.ts';
import { formOf, makeNumbers, makeParameterKey } from './simplify.ts';

export interface GroupOf extends Group {
  readonly control?: Equation<Op>;
}

/** A kernel apart from the variables in its slots. */
interface Template {
  readonly kernel: Kernel;
  /** For each operand its position among what the group reads. */
  readonly reads: readonly number[];
  readonly target?: number;
}

export interface NodeWriter {
  readonly nodeOf: (group: GroupOf, definitions: Definitions) => Node;
  /** How many kernels were written, not found. */
  readonly written: () => number;
}

export function makeNodeWriter(overwritesOf: (equation: Equation<Op>) => readonly Overwrite[]): NodeWriter {
  const templates = new Map<string, Template>();
  /** By what is stored, and by results. */
  const nodes = new Map<Definitions, Map<string, Node>>();
  const numberOf = makeNumbers();
  const structure = makeStructure(numberOf);
  const nodeOf = (group: GroupOf, definitions: Definitions): Node => {
    if (group.control !== undefined) {
      const operands = group.control.inputs.filter((atom): atom is Variable => !isLiteral(atom));
      return {
        kind: 'control',
        equation: group.control,
        operands,
        results: group.results,
        carries: carriesOf(group.control, overwritesOf),
      };
    }
    const earlier = nodes.get(definitions) ?? new Map<string, Node>();
    nodes.set(definitions, earlier);
    const name = group.results.map(numberOf).join();
    const node = earlier.get(name) ?? kernelNode(group, definitions);
    earlier.set(name, node);
    return node;
  };
  const kernelNode = (group: GroupOf, definitions: Definitions): Node => {
    const { key, reads } = structure(group, definitions);
    const known = templates.get(key) ?? templateOf(group, definitions, reads);
    templates.set(key, known);
    const { kernel, target } = known;
    return {
      kind: 'kernel',
      kernel: { ...kernel, results: kernel.results.map((result, i) => ({ ...result, ...madeAt(definitions.of(group.results[i]!)) })) },
      operands: known.reads.map((position) => reads[position]!),
      results: group.results,
      ...(target === undefined ? {} : { target }),
    };
  };
  return { nodeOf, written: () => templates.size };
}

const madeAt = (equation: Equation<Op> | undefined): Pick<Kernel['results'][number], 'place' | 'role'> => ({
  place: equation?.place,
  ...(equation?.role ? { role: equation.role } : {}),
});

function templateOf(group: GroupOf, definitions: Definitions, reads: readonly Variable[]): Template {
  const written = writeKernel(group, definitions);
  if (written.operands.length + written.results.length > maxOperands) throw new Unfit(largestInside(group, definitions));
  const flat = collapsed(written);
  const kernel: Kernel = {
    key: kernelKey(flat),
    name: nameOf(group, definitions),
    extents: flat.extents,
    operands: flat.operands.map(({ aval }) => aval),
    results: flat.results.map(({ role: _role, ...result }) => ({ ...result, place: undefined })),
    form: flat.form,
    inPlace: inPlacePairs(flat),
    flops: flopsOf(flat),
  };
  const target = group.update === undefined ? undefined : flat.operands.lastIndexOf(targetOf(group.update));
  return { kernel, reads: flat.operands.map((variable) => reads.indexOf(variable)), ...(target === undefined ? {} : { target }) };
}

/** What a group computes as text, with what it reads in the order of appearance. */
function makeStructure(numberOf: (one: unknown) => number) {
  const parameterKey = makeParameterKey(numberOf);
  const parameterKeys = new WeakMap<object, string>();
  const keyOf = (parameters: Equation<Op>['parameters']): string => {
    const key = parameterKeys.get(parameters) ?? parameterKey(parameters);
    parameterKeys.set(parameters, key);
    return key;
  };
  const typeOf = ({ aval }: Pick<Variable, 'aval'>): string => `${aval.dtype}${aval.shape.join()}`;
  return (group: GroupOf, definitions: Definitions): { readonly key: string; readonly reads: readonly Variable[] } => {
    const names = new Map<Variable, string>();
    const reads: Variable[] = [];
    const lines: string[] = [];
    const own = new Set(group.results);
    const look = (variable: Variable): string => {
      const known = names.get(variable);
      if (known !== undefined) return known;
      const equation = definitions.of(variable);
      let text = `${typeOf(variable)}`;
      if (equation === undefined || (definitions.stored(variable) && !own.has(variable))) reads.push(variable);
      else {
        const inputs = equation.inputs.map((atom) =>
          isLiteral(atom) ? `${Object.is(atom.literal, -0) ? '-0' : String(atom.literal)}:${typeOf(atom)}` : look(atom),
        );
        text += ` = ${numberOf(equation.op)} ${keyOf(equation.parameters)} ${inputs.join(' ')}`;
      }
      const name = `%${names.size}`;
      names.set(variable, name);
      lines.push(text);
      return name;
    };
    const results = group.results.map(look);
    const around = group.contraction === undefined ? '' : look(group.contraction.outputs[0]!);
    return { key: `${lines.join('\n')}\n-> ${results.join(' ')} around ${around}${group.update === undefined ? '' : ' update'}`, reads };
  };
}

function targetOf({ op, inputs }: Equation<Op>): Variable {
  const target = op.body.kind === 'update' ? inputs[op.body.target] : undefined;
  if (target === undefined || isLiteral(target)) throw new Error('internal: runtime/compile: an update without a target');
  return target;
}

/** Of too many operands, which variable to store: the one deepest in the expression that has most of them. */
function largestInside(group: GroupOf, definitions: Definitions): Variable {
  let best: Variable | undefined;
  let most = 0;
  const leavesOf = (variable: Variable, root: boolean): Set<Variable> => {
    const equation = definitions.of(variable);
    if (equation === undefined || (!root && definitions.stored(variable))) return new Set([variable]);
    const leaves = new Set<Variable>();
    for (const atom of equation.inputs) if (!isLiteral(atom)) for (const leaf of leavesOf(atom, false)) leaves.add(leaf);
    if (!root && leaves.size > most && leaves.size <= maxOperands - group.results.length && equation.op.body.kind !== 'view') {
      most = leaves.size;
      best = variable;
    }
    return leaves;
  };
  for (const result of group.results) leavesOf(result, true);
  // Nothing inside: too many results were merged.
  return best ?? group.results.at(-1)!;
}

function carriesOf(equation: Equation<Op>, overwritesOf: (one: Equation<Op>) => readonly Overwrite[]): readonly Overwrite[] {
  const form = formOf(equation);
  if (form?.kind === 'choice') return overwritesOf(equation);
  const from = form?.kind === 'loop' ? form.constants : form?.kind === 'while' ? form.conditionConstants + form.bodyConstants : undefined;
  const count = form?.kind === 'loop' ? form.carries : equation.outputs.length;
  return from === undefined ? [] : Array.from({ length: count }, (_, i) => ({ result: i, operand: from + i }));
}

function nameOf(group: GroupOf, definitions: Definitions): string {
  const ops = group.results.map((variable) => definitions.of(variable)?.op.id ?? 'copy');
  const inner = group.contraction === undefined || ops.includes(group.contraction.op.id) ? [] : [group.contraction.op.id];
  return [...inner, ...ops].join('_').replaceAll(/[^A-Za-z0-9_]/g, '_');
}

function flopsOf({ extents, results, form }: Written): number {
  const elements = extents.reduce((product, extent) => product * extent, 1);
  let each = 0;
  visit(
    results.map(({ value }) => value),
    (one) => {
      if (one.kind === 'apply') each += one.apply.flops;
    },
  );
  return elements * each + (form.kind === 'contraction' ? 2 * elements * form.contraction.depth : 0);
}
