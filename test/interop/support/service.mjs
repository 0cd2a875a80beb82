import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './files.mjs';

const MAX_START_MS = 180_000;
const CONCURRENCY = 20;
const PROGRAM = join(ROOT, 'dist', 'main.js');
const CLI = join(ROOT, 'dist', 'cli', 'main.js');

/** The address of the service, which the runner sets. */
export const url = process.env.INTEROP_URL ?? '';
export const baseUrl = `${url}/v1`;

/** Starts the built service with an empty database and these settings. The tests create their own keys. */
export async function startService(settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-interop-'));
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'error', ...settings };
  const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => {
    child.once('close', resolve);
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill('SIGTERM'));
  try {
    const address = await addressOf(child, ended);
    return { environment: { INTEROP_URL: address, INTEROP_DATA_DIR: folder }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A Free key has 60 requests a minute. */
export const FREE = ['--plan', 'free'];

/** Every scope. */
export const STAFF = [
  '--scopes',
  'pets:read,pets:write,pets:manage,orders:read,orders:write,orders:manage,events:read,webhooks:manage,admin',
];

/** Creates a key of a new account, while the service runs. */
export async function createKey(account, { plan = ['--plan', 'business'], scopes = [] } = {}) {
  const { PATH, HOME, INTEROP_DATA_DIR } = process.env;
  const args = [CLI, 'keys', 'create', '--account', account, ...plan, ...scopes, '--json'];
  const env = { PATH, HOME, DATA_DIR: INTEROP_DATA_DIR };
  return JSON.parse((await promisify(execFile)(process.execPath, args, { env })).stdout).key;
}

/** Adds animals with concurrent requests and returns their ids. */
export async function addPets(key, count) {
  const ids = [];
  while (ids.length < count) {
    const batch = Array.from({ length: Math.min(CONCURRENCY, count - ids.length) }, () => addPet(key));
    ids.push(...(await Promise.all(batch)));
  }
  return ids;
}

export async function addPet(key) {
  const response = await fetch(`${baseUrl}/pets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Rex', categoryId: 3 }),
  });
  if (response.status !== 201) throw new Error(`the animal was not added: ${await response.text()}`);
  return (await response.json()).id;
}

function addressOf(child, ended) {
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(() => reject(new Error(`the service did not start: ${output}`)), MAX_START_MS);
    void ended.then(() => reject(new Error(`the service ended: ${output}`)));
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const address = /listens on (\S+) /.exec(output)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      resolve(address);
    });
  });
}
