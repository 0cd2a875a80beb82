import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DOCUMENT, FOLDER } from './files.mjs';
import { addressOf, environment, pathOf } from './program.mjs';
import { baseUrl } from './service.mjs';

/** Starts a Prism proxy in front of the service. It returns 500 for every violation of the document. */
export async function startPrism(...options) {
  const args = ['proxy', DOCUMENT, baseUrl, '--errors', '--port', '0', ...options];
  const child = spawn(pathOf('prism'), args, {
    cwd: FOLDER,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return {
    url: await addressOf(child),
    stop: async () => {
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
