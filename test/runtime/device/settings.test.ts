/**
 * Settings of device and memory, each program in a process of its own: what comes too late is an error, what the
 * environment says counts, and what memory reports adds up.
 *
 * Depends on: runtime.
 */
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

function run(program: string, env: Readonly<Record<string, string>> = {}): { readonly out: string; readonly err: string } {
  const source = `import { init, memory, np, devices, jit } from './runtime/index.ts';\n${program}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', source], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, TIDEMARK_DEVICE: 'cpu', ...env },
  });
  return { out: stdout.trim(), err: stderr };
}

describe('settings', function () {
  this.timeout(120_000);

  it('one that comes after the first array is an error that says so', () => {
    const { out } = run(
      `np.ones([4]); try { await init({ memory: { limit: '1MiB' } }) } catch (fault) { console.log(fault.code, fault.message.split('\\n')[0]) } await init(); console.log('again is fine')`,
    );
    assert.equal(out, 'late-setting `memory.limit` comes after the device was first used\nagain is fine');
  });

  it('the default device of a jax-js program may change while nothing is alive', () => {
    const { out, err } = run(
      `const jax = await import('./runtime/jax-js.ts'); await jax.init();
      console.log(jax.defaultDevice('webgpu'), jax.defaultDevice('wasm'), jax.numpy.ones([2]).add(1).js());
      const x = jax.numpy.ones([2]); try { jax.defaultDevice('webgpu') } catch (fault) { console.log(fault.code) } console.log(x.js())`,
    );
    assert.equal(out, 'webgpu cpu [ 2, 2 ]\nlate-setting\n[ 1, 1 ]', err);
  });

  it('the environment lays memory out, and a variable of JAX gets a notice', () => {
    const { out, err } = run(`np.ones([4]); const s = memory.stats(); console.log(s.device, s.bytesLimit, s.bytesReserved)`, {
      TIDEMARK_MEM_LIMIT: '8MiB',
      TIDEMARK_PREALLOCATE: 'true',
      TIDEMARK_MEM_FRACTION: '0.5',
      XLA_PYTHON_CLIENT_ALLOCATOR: 'platform',
    });
    assert.equal(out, `cpu ${8 * 2 ** 20} ${4 * 2 ** 20}`);
    assert.match(err, /XLA_PYTHON_CLIENT_ALLOCATOR is set and has no effect here; the variable of this runtime is TIDEMARK_ALLOCATOR/);
  });

  it('a wrong value names the setting and what it takes', () => {
    const { out } = run(`try { await init({ memory: { limit: 'plenty' } }) } catch (fault) { console.log(fault.message.split('\\n')[0]) }`);
    assert.equal(out, '`limit` is "plenty"');
  });

  it('stats, measure, live arrays and the profile at the peak agree', () => {
    const { out } = run(`
      const stop = memory.trackPeak();
      const kept = np.ones([256, 256]);
      const f = jit((x) => x.matmul(x).add(1).sum());
      const { result, peakBytes, startBytes } = memory.measure(() => f(kept));
      console.log(startBytes, peakBytes - startBytes >= 256 * 256 * 4, memory.stats().peakBytesInUse === peakBytes, memory.liveArrays()[0].bytes);
      console.log(memory.profile().length > 50, memory.profile({ at: 'peak' }).length > memory.profile().length);
      stop(); result.dispose(); kept.dispose(); console.log(memory.stats().bytesInUse);`);
    assert.equal(out, `${256 * 256 * 4} true true ${256 * 256 * 4}\ntrue true\n0`);
  });
});
