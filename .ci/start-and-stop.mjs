// Starts the built service on its embedded PostgreSQL and an empty folder, checks /readyz, and stops it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MAX_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'animal-store-'));
const { PATH, HOME } = process.env;
const service = spawn(process.execPath, ['dist/main.js'], {
  env: { PATH, HOME, PORT: '0', DATA_DIR: folder },
  stdio: ['ignore', 'pipe', 'pipe'],
});
const closed = once(service, 'close');
const deadline = setTimeout(() => service.kill('SIGKILL'), MAX_MS);
let errors = '';
service.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
try {
  const url = await bannerUrl();
  const { status } = await fetch(`${url}/readyz`);
  service.kill('SIGTERM');
  assert.deepEqual(await closed, [0, null], `the service did not stop after SIGTERM:\n${errors}`);
  assert.equal(status, 200, 'GET /readyz');
  // Standard error would show warnings of Node.js, for example of a deprecation. On a busy machine the start says what it waits for.
  assert.equal(errors.replaceAll(/^Waiting for .*\n/gm, ''), '', 'standard error');
  console.log(`started, was ready and stopped on Node.js ${process.version}`);
} finally {
  clearTimeout(deadline);
  service.kill('SIGKILL');
  await closed;
  rmSync(folder, { recursive: true, force: true });
}

function bannerUrl() {
  let output = '';
  return new Promise((resolve, reject) => {
    service.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      const url = /listens on (\S+)/.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    });
    service.once('close', () => reject(new Error(`the service did not start:\n${output}${errors}`)));
  });
}
