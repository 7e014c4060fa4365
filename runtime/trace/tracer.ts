/**
 * An array that records what is done to it.
 *
 * A builder collects equations; a tracer is a variable of one builder. Whatever else an equation reads (arrays, tracers of
 * an enclosing trace) is captured: an input with a value attached. Depends on: core, ops, ir.
 */
import { printAval, type Aval, type KnownAval } from '../core/aval.ts';
import { currentInterpreter, hasInterpreter, roleInForce, type Interpreter } from '../core/interpreter.ts';
import { tracerEscaped, typeError } from '../core/errors.ts';
import type { Atom, Equation, Parameters, Variable } from '../core/program.ts';
import { printPlace } from '../core/stack.ts';
import type { Place } from '../core/source.ts';
import type { Entry } from '../ops/apply.ts';
import { full } from '../ops/shape.ts';
import { literalValue, LiteralValue, Value } from '../ops/value.ts';
import { under } from '../core/interpreter.ts';

export interface TraceOptions {
  readonly axes?: ReadonlyMap<string, number>;
  /** What people call the function, for messages: asked for only then. */
  readonly called?: () => string;
}

export class Builder {
  readonly equations: Equation<Entry>[] = [];
  readonly captures = new Map<Value, Variable>();
  readonly name: string;
  /** What people call the function that is traced. */
  readonly called: () => string;
  readonly interpreter: Interpreter;
  /** A tracer of a trace that is over can't be used any more. */
  open = true;

  constructor(name: string, { axes, called }: TraceOptions = {}) {
    this.name = name;
    this.called = called ?? (() => (name === '' || name.endsWith('anonymous') ? 'a traced function' : `\`${name}\``));
    const outer = hasInterpreter() ? currentInterpreter().axes : undefined;
    const inForce = axes === undefined ? outer : new Map([...(outer ?? []), ...axes]);
    this.interpreter = {
      apply: (op, operands, parameters, place) => this.record(op as Entry, operands as readonly Value[], parameters, place),
      scalar: literalValue,
      ...(inForce ? { axes: inForce } : {}),
    };
  }

  input(aval: KnownAval): Tracer {
    return new Tracer(this, { aval }, undefined);
  }

  private record(op: Entry, operands: readonly Value[], parameters: Parameters, place: Place | undefined): readonly Tracer[] {
    const inputs = operands.map((operand) => this.atomOf(operand));
    const outputs = op
      .infer(
        inputs.map((atom) => atom.aval),
        parameters,
      )
      .map((aval): Variable => ({ aval: aval as KnownAval }));
    const role = roleInForce();
    this.equations.push({ op, inputs, parameters, outputs, place, ...(role ? { role } : {}) });
    return outputs.map((variable) => new Tracer(this, variable, place));
  }

  atomOf(value: Value): Atom {
    if (value instanceof LiteralValue) return { literal: value.literal, aval: value.aval as KnownAval };
    value.ensureAlive();
    if (value instanceof Tracer && value.builder === this) return value.variable;
    const known = this.captures.get(value);
    if (known !== undefined) return known;
    const variable: Variable = { aval: value.aval as KnownAval };
    this.captures.set(value, variable);
    return variable;
  }

  /** An output is a variable: a number becomes an array of rank 0. */
  outputOf(value: Value): Variable {
    const array =
      value instanceof LiteralValue ? under(this.interpreter, () => full([], Number(value.literal), value.dtype, value.weakType)) : value;
    return this.atomOf(array) as Variable;
  }
}

export class Tracer extends Value {
  readonly builder: Builder;
  readonly variable: Variable;
  readonly place: Place | undefined;

  constructor(builder: Builder, variable: Variable, place: Place | undefined) {
    super();
    this.builder = builder;
    this.variable = variable;
    this.place = place;
  }

  get aval(): Aval {
    return this.variable.aval;
  }

  override ensureAlive(): void {
    if (!this.builder.open) throw tracerEscaped(printAval(this.aval), this.builder.called(), printPlace(this.place));
  }

  private unknown(reader: string): never {
    throw typeError(
      `\`${reader}\` of ${printAval(this.aval)} inside of ${this.builder.called()}, which is being traced: it has no value yet; return it, and read it outside`,
    );
  }
  override data(): Promise<never> {
    return this.unknown('data()');
  }
  override item(): Promise<never> {
    return this.unknown('item()');
  }
  override jsAsync(): Promise<never> {
    return this.unknown('jsAsync()');
  }
  override js(): never {
    return this.unknown('js()');
  }
  override dataSync(): never {
    return this.unknown('dataSync()');
  }
  override itemSync(): never {
    return this.unknown('itemSync()');
  }
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString();
    return this.unknown('the value');
  }
  override toString(): string {
    return `Traced<${printAval(this.aval)}>`;
  }
}
