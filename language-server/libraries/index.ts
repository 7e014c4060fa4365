/**
 * The list of library models. Depends on: the models.
 */
import { jaxJs } from './jax-js.ts';
import type { LibraryModel } from './model.ts';
import { standard } from './standard.ts';
import { tfjs } from './tfjs.ts';
import { tidemark } from './tidemark.ts';
import { webgpu } from './webgpu.ts';

export const models: readonly LibraryModel[] = [tidemark, jaxJs, tfjs, webgpu, standard];

/** Module names whose import makes a file interesting; raw WebGPU has none. */
export const knownModules: readonly string[] = models.flatMap((model) => model.modules).filter((name) => name !== 'lib');

/** The entry of our own package whose operations consume. */
export const consumingEntry = 'jax-js';
