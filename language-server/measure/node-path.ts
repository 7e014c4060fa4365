/**
 * Finds a real Node to run the person's program with, or says what was tried.
 *
 * In order: the setting, `TIDEMARK_NODE`, the Node that runs this (unless it is an editor's), `node` on the PATH. An
 * editor's Electron can't host a GPU, however much it claims to be Node, so every candidate is asked. What touches the
 * machine comes in as functions. Depends on: nothing.
 */
export interface NodeSearch {
  readonly setting: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  /** The program that runs this, and whether it is an Electron. */
  readonly self: { readonly path: string; readonly electron: boolean };
  exists(path: string): boolean;
  /** Asks a program for its versions: the standard output of `path args`, or undefined when it can't be run. */
  ask(path: string, args: readonly string[]): Promise<string | undefined>;
}

export type NodeFound =
  { readonly kind: 'found'; readonly path: string; readonly version: string } | { readonly kind: 'missing'; readonly message: string };

export const oldestNode = 20;

export async function findNode(search: NodeSearch): Promise<NodeFound> {
  const tried: string[] = [];
  for (const { path, from } of candidates(search)) {
    const verdict = await judge(search, path);
    if (verdict.version !== undefined) return { kind: 'found', path, version: verdict.version };
    tried.push(`${from} ${path}: ${verdict.why}`);
  }
  const what = tried.length === 0 ? ['`node` is not on the PATH'] : tried;
  return {
    kind: 'missing',
    message: [
      `no Node ${oldestNode} or newer was found to run the program with`,
      ...what.map((line) => `  - ${line}`),
      `fix: install Node ${oldestNode} or newer, or name it in the setting \`tidemark.nodePath\` or in TIDEMARK_NODE`,
    ].join('\n'),
  };
}

interface Candidate {
  readonly path: string;
  readonly from: string;
}

function candidates({ setting, env, platform, self, exists }: NodeSearch): readonly Candidate[] {
  const named: readonly (Candidate | undefined)[] = [
    present(setting, 'the setting `tidemark.nodePath`'),
    present(env['TIDEMARK_NODE'], 'TIDEMARK_NODE'),
    self.electron ? undefined : { path: self.path, from: 'this process' },
    ...(env['PATH'] ?? env['Path'] ?? '')
      .split(platform === 'win32' ? ';' : ':')
      .filter((folder) => folder !== '')
      .map((folder) => (platform === 'win32' ? `${folder}\\node.exe` : `${folder}/node`))
      .filter(exists)
      .map((path) => ({ path, from: 'the PATH' })),
  ];
  // What the person names is not second-guessed: when it doesn't work, that is the answer.
  const chosen = named.filter((one) => one !== undefined);
  return setting !== undefined && setting !== '' ? chosen.slice(0, 1) : chosen;
}

const present = (path: string | undefined, from: string): Candidate | undefined =>
  path === undefined || path === '' ? undefined : { path, from };

const question = 'process.stdout.write(JSON.stringify({ version: process.versions.node, electron: process.versions.electron }))';

async function judge({ ask, self }: NodeSearch, path: string): Promise<{ version?: string; why?: string }> {
  if (path !== self.path && path.includes('lectron')) return { why: 'is an Electron, which cannot host a GPU for programs' };
  const answer = await ask(path, ['-e', question]);
  if (answer === undefined) return { why: 'cannot be run' };
  const versions = readVersions(answer);
  if (versions === undefined) return { why: 'does not answer as Node does' };
  if (versions.electron !== undefined) return { why: `is an Electron (${versions.electron}), which cannot host a GPU for programs` };
  if (Number.parseInt(versions.version, 10) < oldestNode) return { why: `is Node ${versions.version}, older than ${oldestNode}` };
  return { version: versions.version };
}

function readVersions(answer: string): { version: string; electron: string | undefined } | undefined {
  try {
    const value: unknown = JSON.parse(answer);
    if (typeof value !== 'object' || value === null || !('version' in value) || typeof value.version !== 'string') return undefined;
    return { version: value.version, electron: 'electron' in value && typeof value.electron === 'string' ? value.electron : undefined };
  } catch {
    return undefined;
  }
}
