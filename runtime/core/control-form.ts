/**
 * How a control-flow op runs its body programs, in one vocabulary for tracer, transforms and compiler.
 *
 * All bodies are closed: what they read from outside are constants among the equation's inputs. The order of inputs and
 * outputs is fixed per form and stands at each. Carries are updated in place by the compiler. Depends on: program.
 */
import type { Program } from './program.ts';

export type ControlForm =
  /** Inputs: the body's inputs. Outputs: the body's outputs. Inlined by the compiler. */
  | { readonly kind: 'call'; readonly body: Program }
  /**
   * Inputs: constants, carries, sequences with leading axis `length`. Body: constants, carries, one slice of each
   * sequence (without the axis) -> carries, slices of results. Outputs: carries, results stacked on a leading axis.
   * With `reverse` the slices are taken and put from the last to the first.
   */
  | {
      readonly kind: 'loop';
      readonly body: Program;
      readonly length: number;
      readonly constants: number;
      readonly carries: number;
      readonly reverse: boolean;
    }
  /** Inputs: constants of the condition, constants of the body, carries. Condition: its constants, carries -> bool[]. Body: its constants, carries -> carries. Outputs: carries. */
  | {
      readonly kind: 'while';
      readonly condition: Program;
      readonly conditionConstants: number;
      readonly body: Program;
      readonly bodyConstants: number;
    }
  /** Inputs: which branch (int32[], clamped), then the operands of every branch. Outputs: those of the branch that ran. */
  | { readonly kind: 'choice'; readonly branches: readonly Program[] };
