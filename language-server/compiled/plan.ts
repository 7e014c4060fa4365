/**
 * What a traced program will need, for any choice of donations: the runtime's own compiler and planner.
 *
 * Planned for the class of adapter that people have by default; programs that print equally are planned once.
 * Depends on: core, ir, compile, jitted.
 */
import type { Program } from '../../runtime/core/program.ts';
import type { Analysis, Executable, Target } from '../../runtime/compile/executable.ts';
import { usesHalf } from '../../runtime/compile/half.ts';
import { arrange, fuseOnce } from '../../runtime/compile/pipeline.ts';
import { printProgram } from '../../runtime/ir/print.ts';
import type { Entry } from '../../runtime/ops/apply.ts';
import type { Op } from '../../runtime/ops/op.ts';
import type { Leaf } from './jitted.ts';

export interface Plan {
  readonly argumentBytes: number;
  /** Planned peak of the call, arguments included, if exactly these leaves were donated. */
  readonly peakWith: (donated: readonly boolean[]) => number;
  /** The whole analysis for these donations. */
  readonly analysis: (donated: readonly boolean[]) => Analysis;
  /** Kernels, steps and places for these donations. */
  readonly executable: (donated: readonly boolean[]) => Executable;
}

const gpu: Target = { device: 'webgpu', adapter: 'software', float16: false };
/** Where programs with 16-bit floats run: on WebGPU the runtime refuses them. */
const host: Target = { device: 'cpu', adapter: 'host', float16: true };

const byText = new Map<string, Plan | undefined>();
const byProgram = new WeakMap<Program, Plan | undefined>();
const mostRemembered = 500;

/** Undefined when the program can't be planned (an op that the compiler doesn't know yet, a capture of unknown size). */
export function planOf(program: Program<Entry>, leaves: readonly Leaf[]): Plan | undefined {
  if (byProgram.has(program)) return byProgram.get(program);
  const text = `${printProgram(program)}\n${leaves.map(({ argument, path }) => `${argument}:${path}`).join(' ')}`;
  if (!byText.has(text)) {
    if (byText.size > mostRemembered) byText.clear();
    byText.set(text, planned(program, leaves));
  }
  const plan = byText.get(text);
  byProgram.set(program, plan);
  return plan;
}

function planned(program: Program<Entry>, leaves: readonly Leaf[]): Plan | undefined {
  try {
    // Fusion doesn't depend on donations: it is done once.
    const fused = fuseOnce(program as unknown as Program<Op>);
    const target = usesHalf(program) ? host : gpu;
    const executables = new Map<string, Executable>();
    const executable = (donated: readonly boolean[]): Executable => {
      const key = donated.map(Number).join('');
      let made = executables.get(key);
      if (made === undefined) {
        made = arrange(fused, {
          donated,
          target,
          paths: leaves.map(({ path }) => path),
          argnums: leaves.map(({ argument }) => argument),
        });
        executables.set(key, made);
      }
      return made;
    };
    const first = executable(leaves.map(({ donated }) => donated !== undefined));
    return {
      argumentBytes: first.analysis.argumentBytes,
      peakWith: (donated) => first.peakWith(donated),
      analysis: (donated) => executable(donated).analysis,
      executable,
    };
  } catch {
    return undefined;
  }
}
