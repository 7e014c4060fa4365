/**
 * TypeScript without tsx: the loader that ships for every platform resolves as the compiler does, and stacks land on the person's lines.
 *
 * Depends on: measure.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { typescriptLoader } from '../../language-server/measure/command.ts';
import { programs } from './support.ts';

describe('the loader without native code', () => {
  const written = programs();
  after(() => written.remove());

  const run = (entry: string): string =>
    execFileSync(process.execPath, ['--import', pathToFileURL(typescriptLoader()).href, entry], { encoding: 'utf8', stdio: 'pipe' });

  it('follows paths of tsconfig, `.js` that means `.ts`, names without an ending; enums and decorators become JavaScript', () => {
    written.write('tsconfig.json', '{ "compilerOptions": { "paths": { "lib/*": ["./library/*"] }, "experimentalDecorators": true } }');
    written.write('library/one.ts', 'export const one: number = 1;');
    written.write('two.ts', "export enum Two { value = 2 }\nexport * from './three.js';");
    written.write('three.mts', 'export const unused: unknown = undefined;');
    written.write('three.ts', 'export const three = 3 as const;');
    written.write('four.cts', 'const { basename } = require("node:path");\nmodule.exports = { four: basename("/x/4") as string };');
    const entry = written.write(
      'größe main.ts',
      `import { one } from 'lib/one';
import { three, Two } from './two';
import four from './four.cts';
const seen: string[] = [];
const mark = (_target: object, name: string): void => void seen.push(name);
class Net { @mark forward(): number { return 0; } }
await Promise.resolve();
console.log(one, Two.value, three, four.four, new Net().forward(), seen.join());
`,
    );
    assert.equal(run(entry), '1 2 3 4 0 forward\n');
  });

  it('a stack names the line and column as written', () => {
    const entry = written.write('thrower.ts', `interface A {\n  x: number;\n}\nconst a: A = { x: 1 };\n  throw new Error(String(a.x));\n`);
    assert.throws(() => run(entry), /thrower\.ts:5:9/);
  });

  it('a missing module is missed by its own name', () => {
    assert.throws(() => run(written.write('missing.ts', "import './nowhere.ts';")), /nowhere\.ts/);
  });
});
