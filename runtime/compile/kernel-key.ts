/**
 * A kernel as text: for people, and to know when two are the same.
 *
 * Symbols are numbered in order of appearance and functions stand with their text, so the key depends on nothing but what
 * the kernel computes. Shared nodes are written once and named. Depends on: ops, kernel.
 */
import { shortName } from '../core/dtype.ts';
import { printAval } from '../core/aval.ts';
import { dtypeOf, type Scalar } from '../ops/scalar.ts';
import type { Factor } from './kernel.ts';
import type { Written } from './kernel-builder.ts';

export function kernelKey({ extents, operands, results, form }: Written): string {
  const lines: string[] = [];
  const names = new Map<Scalar, string>();
  const texts = new Map<string, string>();
  const symbols = new Map<symbol, string>();
  const symbolName = (symbol: symbol): string => {
    const name = symbols.get(symbol) ?? `$${symbols.size}`;
    symbols.set(symbol, name);
    return name;
  };
  const write = (scalar: Scalar): string => {
    const known = names.get(scalar);
    if (known !== undefined) return known;
    const text = textOf(scalar);
    const name = text.length < 24 ? text : (texts.get(text) ?? `t${texts.size}`);
    if (text.length >= 24 && !texts.has(text)) {
      texts.set(text, name);
      lines.push(`${name}: ${shortName[dtypeOf(scalar)]} = ${text}`);
    }
    names.set(scalar, name);
    return name;
  };
  const textOf = (scalar: Scalar): string => {
    switch (scalar.kind) {
      case 'constant':
        return `${Object.is(scalar.value, -0) ? '-0' : scalar.value}${scalar.dtype[0]!}`;
      case 'coordinate':
        return `c${scalar.axis}`;
      case 'variable':
        return symbolName(scalar.variable);
      case 'load':
        return `s${scalar.operand}[${scalar.index.map(write).join()}]`;
      case 'choose':
        return `${write(scalar.condition)} ? ${write(scalar.then)} : ${write(scalar.otherwise)}`;
      case 'apply': {
        const operands = scalar.operands.map(write);
        return `${scalar.apply.name}:${shortName[scalar.dtype]}(${operands.join()})${signature(scalar)}`;
      }
      case 'loop': {
        const counter = symbolName(scalar.counter);
        const variables = scalar.state.map(({ variable }) => symbolName(variable));
        return `loop ${counter}<${write(scalar.extent)} {${scalar.state.map(({ initial, next }, i) => `${variables[i]!} = ${write(initial)} -> ${write(next)}`).join('; ')}} ${write(scalar.result)}`;
      }
    }
  };
  const head = `${form.kind}[${extents.join()}] (${operands.map(({ aval }) => printAval(aval)).join(', ')})`;
  if (form.kind === 'contraction') {
    const { left, right, batch, rows, columns, depth, sum, k } = form.contraction;
    symbolName(k);
    const element = ({ operand, start, free, depth: along, mixed, border }: Factor): string => {
      const place = [start, free, along, ...(mixed ? [mixed] : [])].map(write).join(' + ');
      return `s${operand}[${place}]${border ? ` if ${write(border.inside)} else ${border.value}` : ''}`;
    };
    const factors = `${element(left)} · ${element(right)}`;
    lines.push(`${symbolName(sum)} = ${batch}×${rows}×${columns} over ${depth}: ${factors}`);
  }
  for (const { aval, value, index, inside } of results)
    lines.push(
      `-> ${printAval(aval)}${index ? `[${index.map(write).join()}]` : ''} = ${write(value)}${inside ? ` if ${write(inside)}` : ''}`,
    );
  if (form.kind === 'update') lines.push(form.disjoint ? 'disjoint' : `in order, apart on ${form.apart.join()}`);
  return [head, ...lines].join('\n');
}

/** Two functions of one name may still differ (a constant inside): their text tells. */
function signature(scalar: Extract<Scalar, { kind: 'apply' }>): string {
  const plain = scalar.apply.wgsl(
    scalar.operands.map((_, i) => `x${i}`),
    scalar.dtype,
    scalar.operands.map(dtypeOf),
  );
  return plain.length > 40 ? `#${hash(plain)}` : '';
}

function hash(text: string): string {
  let code = 5381;
  for (let i = 0; i < text.length; i++) code = (Math.imul(code, 33) ^ text.charCodeAt(i)) >>> 0;
  return code.toString(36);
}
