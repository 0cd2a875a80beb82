import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { joinEmbedded } from '../../src/database/embedded';
import { send } from '../support/http';
import { dataFolder, run, running, type RunningService } from '../support/service';

jest.setTimeout(60_000);

describe('npm start', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path };
  let first: RunningService;

  beforeAll(async () => {
    first = await running(run('main', [], environment));
  });
  afterAll(async () => {
    first.child.kill('SIGKILL');
    await first.ended;
    folder.remove();
  });

  it('prints a key and, for each operation, a curl line that works', async () => {
    expect(first.key).toMatch(/^ask_test_\w{36}$/);
    const lines = first.output().match(/^ {2}curl .*$/gm) ?? [];
    expect(lines).toHaveLength(3);
    const statuses = [];
    for (const line of lines) statuses.push((await asCurlWould(line)).status);
    expect(statuses).toEqual([201, 200, 200]);
    expect(first.output()).toContain(`${first.url}/docs`);
  });

  it('does not log the key that it prints', () => {
    const logged = first
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join('')).not.toContain(first.key);
  });

  it('a second one on the same directory is refused with one sentence that names the first', async () => {
    const second = run('main', [], environment);
    expect(await second.ended).toBe(1);
    expect(second.output().trim().split('\n')).toHaveLength(1);
    expect(second.output()).toContain(String(first.child.pid));
    expect(second.output()).toContain('DATA_DIR');
  });

  it('one on a port in use is refused with one sentence, and leaves no database behind', async () => {
    const other = dataFolder();
    const taken = createServer().listen(0, '127.0.0.1').unref();
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    const refused = run('main', [], { DATA_DIR: other.path, PORT: String(port) });
    expect(await refused.ended).toBe(1);
    expect(refused.standardOutput()).toBe('');
    expect(refused.output().trim()).toBe(
      `127.0.0.1:${port} is already in use: stop the program that uses it, or set PORT.`,
    );
    expect(existsSync(join(other.path, 'app.lock'))).toBe(false);
    taken.close();
    other.remove();
  });

  it('SIGTERM answers what is in flight, closes the database and exits 0; a second signal is safe', async () => {
    const { url, key } = first;
    const joined = await joinEmbedded({ dataDir: folder.path, dataDirIsExplicit: true, binDir: undefined });
    const client = new Client({ connectionString: joined!.url() });
    client.on('error', () => undefined);
    await client.connect();
    // Nothing that reads or writes animals can be answered until this lock is given back.
    await client.query('BEGIN; LOCK TABLE pets');
    const inFlight = Array.from({ length: 10 }, (_, at) =>
      at % 2 === 0
        ? send(url, 'GET', '/v1/pets', { key })
        : send(url, 'POST', '/v1/pets', { key, body: { name: `in flight ${at}`, categoryId: 1 } }),
    );
    await until(async () => {
      // Within a transaction the view would stay as it was first read.
      await client.query('SELECT pg_stat_clear_snapshot()');
      return (await client.query(WAITING)).rows.length === inFlight.length;
    });
    first.child.kill('SIGTERM');
    first.child.kill('SIGTERM');
    await until(() => isRefused(url));
    await client.query('COMMIT');
    await client.end();
    const answers = await Promise.all(inFlight);
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, at) => (at % 2 === 0 ? 200 : 201)));
    expect(answers.map(({ headers }) => headers.connection)).toEqual(answers.map(() => 'close'));
    expect(await first.ended).toBe(0);
    expect(existsSync(join(folder.path, 'app.lock'))).toBe(false);
    expect(existsSync(join(folder.path, 'pg18', 'postmaster.pid'))).toBe(false);
  });

  it('again on the same directory finds every animal, and prints no key but how to make one', async () => {
    const again = await running(run('main', [], environment));
    const { json } = await send(again.url, 'GET', '/v1/pets?limit=100', { key: first.key });
    expect(json).toHaveLength(6);
    expect(again.key).toBeUndefined();
    expect(again.output()).toContain('npm run -s cli -- keys create --account NAME');
    again.child.kill('SIGINT');
    expect(await again.ended).toBe(0);
  });
});

describe('a start that cannot succeed ends with status 1 and one sentence', () => {
  async function refusal(environment: Record<string, string>): Promise<string> {
    const refused = run('main', [], environment);
    expect(await refused.ended).toBe(1);
    expect(refused.standardOutput()).toBe('');
    expect(refused.output().trim().split('\n')).toHaveLength(1);
    return refused.output();
  }

  it('names every bad setting at once', async () => {
    const output = await refusal({
      PORT: 'abc',
      DEPLOYMENT: 'prod',
      TRUST_PROXY: '1',
      DATABASE_URL: 'mysql://x',
      LOG_LEVEL: 'loud',
    });
    for (const name of ['PORT', 'DEPLOYMENT', 'TRUST_PROXY', 'DATABASE_URL', 'LOG_LEVEL'])
      expect(output).toContain(name);
  });

  it('says that the database cannot be reached', async () => {
    expect(await refusal({ DATABASE_URL: 'postgres://127.0.0.1:1/none' })).toMatch(
      /^The database cannot be reached/,
    );
  });

  it('says that the database does not exist', async () => {
    const url = new URL(process.env['ANIMAL_STORE_TEST_ADMIN_URL'] ?? '');
    url.pathname = '/no_such_database';
    expect(await refusal({ DATABASE_URL: url.href })).toMatch(/does not exist/);
  });

  it('says that a file stands where the directory should be', async () => {
    expect(await refusal({ DATA_DIR: __filename })).toContain(__filename);
  });
});

/** Does what a printed curl line says. */
function asCurlWould(line: string) {
  const url = new URL(/(http:\/\/[^\s']+)'?$/.exec(line)?.[1] ?? '');
  const body = / -d '([^']*)'/.exec(line)?.[1];
  const headers = Object.fromEntries(
    [...line.matchAll(/-H '([^:]*): ([^']*)'/g)].map(([, name, value]) => [name!.toLowerCase(), value!]),
  );
  return send(url.origin, body === undefined ? 'GET' : 'POST', `${url.pathname}${url.search}`, {
    headers,
    body,
  });
}

const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;

/** Looks again and again until the condition holds, for 10 s at most. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('waited in vain');
    await sleep(5);
  }
}

/** True when nothing listens there any more. */
function isRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true));
    socket.once('connect', () => socket.destroy());
  });
}
