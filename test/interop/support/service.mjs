import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './files.mjs';

const LONGEST_START_MS = 60_000;
const AT_ONCE = 20;
const PROGRAM = join(ROOT, 'dist', 'main.js');
const CLI = join(ROOT, 'dist', 'cli', 'main.js');

/** What the tests are told of the service, by the runner that started it. */
export const url = process.env.INTEROP_URL ?? '';
export const baseUrl = `${url}/v1`;

/** Starts the built service with an empty database; the tests make their keys themselves. */
export async function startService() {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-interop-'));
  const { PATH, HOME } = process.env;
  const settings = { PATH, HOME, PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, [PROGRAM], { env: settings, stdio: ['ignore', 'pipe', 'inherit'] });
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

/** Makes a key, with an account of its own, by the command line beside the running service. */
export async function createKey(account, plan = ['--plan', 'business']) {
  const args = [CLI, 'keys', 'create', '--account', account, ...plan, '--json'];
  const { PATH, HOME, INTEROP_DATA_DIR } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { PATH, HOME, DATA_DIR: INTEROP_DATA_DIR },
  });
  return JSON.parse(stdout).key;
}

/** Adds animals, some at once, and returns their ids. */
export async function addPets(key, count) {
  const ids = [];
  while (ids.length < count) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - ids.length) }, () => addPet(key));
    ids.push(...(await Promise.all(batch)));
  }
  return ids;
}

async function addPet(key) {
  const response = await fetch(`${baseUrl}/pets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Rex', categoryId: 3 }),
  });
  if (response.status !== 201) throw new Error(`no animal was added: ${await response.text()}`);
  return (await response.json()).id;
}

function addressOf(child, ended) {
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(
      () => reject(new Error(`the service did not start: ${output}`)),
      LONGEST_START_MS,
    );
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
