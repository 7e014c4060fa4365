/**
 * The pipelines that a program's first run needs, known before it runs, so that they can be made side by side.
 * Depends on: compile, backend, pipelines.
 */
import type { Step } from '../compile/executable.ts';
import { boundFor, type Resolve } from './backend.ts';
import type { Wanted } from './pipelines.ts';

/** What the launches of the first run need; what later ones need besides (other slabs) is made then. */
export function wantedBy(steps: readonly Step[], resolve: Resolve, loops: number[] = []): Wanted[] {
  return steps.flatMap((step): Wanted[] => {
    switch (step.kind) {
      case 'launch': {
        const { kernel, at, aligned } = step;
        if (kernel.extents.includes(0)) return [];
        return [{ kernel, aligned, slabs: boundFor(at.map((location) => resolve(location, loops))).slabs }];
      }
      case 'loop':
        loops[step.loop] = 0;
        return wantedBy(step.body, resolve, loops);
      case 'while':
        return wantedBy([...step.condition, ...step.body], resolve, loops);
      case 'choice':
        return wantedBy(step.branches.flat(), resolve, loops);
    }
  });
}
