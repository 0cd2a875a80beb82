import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './files.mjs';
import { addressOf } from './program.mjs';

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
    const address = await addressOf(child);
    return { environment: { INTEROP_URL: address, INTEROP_DATA_DIR: folder }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

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

export async function addPet(key) {
  const response = await fetch(`${baseUrl}/pets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Rex', categoryId: 3 }),
  });
  if (response.status !== 201) throw new Error(`the animal was not added: ${await response.text()}`);
  return (await response.json()).id;
}
