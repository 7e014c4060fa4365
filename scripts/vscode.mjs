/**
 * `npm run vscode`: a real VS Code in the browser, with the extension installed from its VSIX and `examples/` open.
 *
 * `--port N` chooses where; a folder after the options is opened instead of the examples. Ends with Ctrl-C.
 * Depends on: editor-install, package, support/editor-server.
 */
import path from 'node:path';
import { installEditor } from './editor-install.mjs';
import { packageExtension, vsix } from './package.mjs';
import { setup } from './setup.mjs';
import { startEditor } from './support/editor-server.mjs';
import { main, root } from './support/run.mjs';

const words = process.argv.slice(2);
const portAt = words.indexOf('--port');
const port = portAt >= 0 ? Number(words[portAt + 1]) : undefined;
const folder = words.find((word, index) => !word.startsWith('--') && (portAt < 0 || index !== portAt + 1));

await main(async () => {
  await setup();
  await installEditor();
  await packageExtension();
  const opened = path.resolve(root, folder ?? 'examples');
  const server = await startEditor({ trust: true, vsix: [vsix.linux], port });
  console.log(`\nVS Code with Tidemark: ${server.url}/?folder=${encodeURIComponent(opened)}\nend with Ctrl-C`);
  await new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, resolve);
    server.process.once('exit', resolve);
  });
  await server.stop();
});
