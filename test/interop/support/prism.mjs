import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DOCUMENT, FOLDER } from './files.mjs';
import { freePort } from './free-port.mjs';
import { environment, pathOf } from './program.mjs';
import { baseUrl } from './service.mjs';

const MAX_START_MS = 180_000;

/** Starts a Prism proxy in front of the service. It returns 500 for every violation of the document. */
export async function startPrism(...options) {
  const port = await freePort();
  const args = ['proxy', DOCUMENT, baseUrl, '--errors', '--port', String(port), ...options];
  const child = spawn(pathOf('prism'), args, {
    cwd: FOLDER,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await listening(child);
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function listening(child) {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = () => reject(new Error(`Prism did not start: ${output}`));
    const timer = setTimeout(fail, MAX_START_MS);
    child.once('close', fail);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
        if (!output.includes('is listening')) return;
        clearTimeout(timer);
        resolve();
      });
    }
  });
}
