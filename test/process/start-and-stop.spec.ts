import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { Client } from 'pg';
import { joinEmbedded } from '../../src/database/embedded';
import { send, sendRaw } from '../support/http';
import { dataFolder, run, running, type RunningService } from '../support/service';
import { until } from '../support/until';

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
    expect(lines).toHaveLength(7);
    const statuses = [];
    for (const line of lines) statuses.push((await asCurlWould(line)).status);
    expect(statuses).toEqual([201, 200, 200, 201, 200, 200, 200]);
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
    // The first start that succeeds is the one that prints a key.
    const served = await running(run('main', [], { DATA_DIR: other.path }));
    expect(served.key).toMatch(/^ask_test_/);
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);
    other.remove();
  });

  it('SIGTERM answers what is in flight, closes the database and exits 0; a second signal is safe', async () => {
    const { url, key } = first;
    const joined = await joinEmbedded({ dataDir: folder.path, dataDirIsExplicit: true, binDir: undefined });
    const client = new Client({ connectionString: joined!.url() });
    client.on('error', () => undefined);
    await client.connect();
    // Nothing that reads or writes animals can be answered until this lock is given back. Different pages, as
    // those who want the same one share a connection.
    await client.query('BEGIN; LOCK TABLE pets');
    const inFlight = Array.from({ length: 10 }, (_, at) =>
      at % 2 === 0
        ? send(url, 'GET', `/v1/pets?limit=${at + 1}`, { key })
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

describe('a stop', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path };
  afterAll(folder.remove);

  it('does not wait for connections that never ask, nor for requests that never arrive', async () => {
    const service = await running(run('main', [], environment));
    const ask = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    const sockets = [
      '',
      'GET /v1/pets HTTP/1.1\r\nHo',
      `${ask}Content-Length: 50\r\nAuthorization: Bearer ${service.key}\r\n\r\n{`,
    ];
    const closed = sockets.map((bytes) => sendRaw(service.url, bytes).catch(() => 'reset'));
    await send(service.url, 'GET', '/livez');
    service.child.kill('SIGTERM');
    // Each of them would last for as long as its timeout, and the idle one for ever.
    expect(await service.ended).toBe(0);
    expect(await Promise.all(closed)).toHaveLength(3);
  });

  it('comes by itself, with one sentence and status 1, when the embedded PostgreSQL dies', async () => {
    const service = await running(run('main', [], environment));
    const [pid] = readFileSync(join(folder.path, 'pg18', 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 'SIGKILL');
    expect(await service.ended).toBe(1);
    expect(service.output()).toContain('The embedded PostgreSQL has ended by itself: read ');
    const again = await running(run('main', [], environment));
    expect((await send(again.url, 'GET', '/readyz')).status).toBe(200);
    again.child.kill('SIGTERM');
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

  it('says that the host is no address of this machine', async () => {
    const data = dataFolder();
    expect(await refusal({ HOST: '192.0.2.1', DATA_DIR: data.path })).toMatch(
      /^192\.0\.2\.1 is no address of this machine/,
    );
    data.remove();
  });

  it('says that the pool is larger than the embedded server allows', async () => {
    expect(await refusal({ DATABASE_POOL_SIZE: '51' })).toContain('DATABASE_POOL_SIZE must be at most 50');
  });

  it('says that a certificate of DATABASE_URL cannot be read', async () => {
    const url = 'postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/nowhere';
    expect(await refusal({ DATABASE_URL: url })).toMatch(/^The file \/nowhere cannot be read/);
  });

  it('says that .env cannot be read', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'animal-store-env-'));
    mkdirSync(join(directory, '.env'));
    const refused = run('main', [], {}, directory);
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toMatch(/^The file \.env cannot be read: .*\n$/);
    const command = run('cli/main', ['keys', 'list'], {}, directory);
    expect(await command.ended).toBe(1);
    expect(command.output()).toBe(refused.output());
  });

  it('says that the database offers no TLS', async () => {
    const url = new URL(process.env['ANIMAL_STORE_TEST_ADMIN_URL'] ?? '');
    url.searchParams.set('sslmode', 'verify-full');
    expect(await refusal({ DATABASE_URL: url.href })).toMatch(/^The database offers no TLS: /);
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
  const method = / -X (\w+)/.exec(line)?.[1] ?? (body === undefined ? 'GET' : 'POST');
  return send(url.origin, method, `${url.pathname}${url.search}`, {
    headers,
    body,
  });
}

const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;

/** True when nothing listens there any more. */
function isRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true));
    socket.once('connect', () => socket.destroy());
  });
}
