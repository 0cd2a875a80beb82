import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { joinEmbedded } from '../../src/embedded-postgres';
import { operationsOf } from '../../src/platform/openapi/operations-of';
import { send } from '../support/http';
import { isRefused } from '../support/is-refused';
import { dataFolder, run, running, type RunningService } from '../support/service';
import { rejectionOf, startHere } from '../support/start';
import { until } from '../support/until';

const committedDocument = readFileSync(join(__dirname, '..', '..', 'openapi.json'), 'utf8');

/** The sessions of the requests in flight: one for each page, and at least one for all creations. */
const READS = 6;
const JOINED = 1;

describe('npm start', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path };
  let first: RunningService;

  beforeAll(async () => {
    first = await running(run('main', [], { ...environment, TZ: 'Pacific/Chatham' }));
  });
  afterAll(async () => {
    first.child.kill('SIGKILL');
    await first.ended;
    folder.remove();
  });

  it('prints a key and, for each operation, a curl line that works in the order of the lines', async () => {
    expect(first.key).toMatch(/^ask_test_\w{36}$/);
    const statuses: Record<string, number> = {};
    for (const [, title = '', line = ''] of first.output().matchAll(/^ {2}# (.*)\n {2}(curl .*)$/gm)) {
      statuses[title.replace(' (deprecated)', '')] = (await sendAsCurl(line)).status;
    }
    const expected = operationsOf(JSON.parse(committedDocument).paths).map(({ summary, responses }) => [
      summary,
      Number(Object.keys(responses).find((status) => status.startsWith('2'))),
    ]);
    expect(statuses).toEqual(Object.fromEntries(expected));
    expect(first.output()).toContain(`${first.url}/docs`);
  });

  it('says the same times in every time zone', async () => {
    const { headers } = await send(first.url, 'GET', '/v1/pets/1', { key: first.key });
    expect([headers['deprecation'], headers['sunset']]).toEqual([
      '@1795219200',
      'Thu, 05 Dec 2030 00:00:00 GMT',
    ]);
    const document = await send(first.url, 'GET', '/openapi.json');
    expect(document.text).toBe(committedDocument);
  });

  it('does not log the key that it prints', () => {
    const logged = first
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join('')).not.toContain(first.key);
  });

  it('on a directory in use fails with one sentence that names the first process', async () => {
    const sentence = await rejectionOf(environment);
    expect(sentence).toContain(String(first.child.pid));
    expect(sentence).toContain('DATA_DIR');
    expect(sentence).not.toContain('\n');
  });

  it('on SIGTERM completes the requests in flight, closes the database and exits with 0; a second signal is safe', async () => {
    const { url, key } = first;
    const joined = await joinEmbedded({ dataDir: folder.path, dataDirIsExplicit: true, binDir: undefined });
    const client = new Client({ connectionString: joined!.url() });
    client.on('error', () => undefined);
    await client.connect();
    // Requests that read or write animals wait for this lock. Different pages, because requests for the same page
    // share a query.
    await client.query('BEGIN; LOCK TABLE pets');
    // The last one reads, so that its wait shows that all have arrived.
    const inFlight = Array.from({ length: 11 }, (_, at) =>
      at % 2 === 0
        ? send(url, 'GET', `/v1/pets?limit=${at + 1}`, { key })
        : send(url, 'POST', '/v1/pets', { key, body: { name: `in flight ${at}`, categoryId: 1 } }),
    );
    await until(async () => {
      // A transaction caches its first read of the view.
      await client.query('SELECT pg_stat_clear_snapshot()');
      return (await client.query(WAITING)).rows.length >= READS + JOINED;
    });
    first.child.kill('SIGTERM');
    first.child.kill('SIGTERM');
    await until(() => isRefused(url));
    await client.query('COMMIT');
    await client.end();
    const responses = await Promise.all(inFlight);
    expect(responses.map(({ status }) => status)).toEqual(
      responses.map((_, at) => (at % 2 === 0 ? 200 : 201)),
    );
    expect(responses.map(({ headers }) => headers.connection)).toEqual(responses.map(() => 'close'));
    expect(await first.ended).toBe(0);
    expect(existsSync(join(folder.path, 'app.lock'))).toBe(false);
    expect(existsSync(join(folder.path, 'pg18', 'postmaster.pid'))).toBe(false);
  });

  it('again on the same directory finds every animal, and prints the command that creates a key', async () => {
    const again = await startHere(environment);
    const { json } = await send(again.url, 'GET', '/v1/pets?limit=100', { key: first.key });
    expect(json).toHaveLength(5);
    expect(again.key).toBeUndefined();
    expect(again.printed).toContain('npm run -s cli -- keys create --account NAME');
    await again.stop();
  });
});

describe('a stop', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path };
  afterAll(folder.remove);

  it('follows, with one sentence and status 1, if the embedded PostgreSQL dies', async () => {
    const service = await running(run('main', [], environment));
    const [pid] = readFileSync(join(folder.path, 'pg18', 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 'SIGKILL');
    expect(await service.ended).toBe(1);
    expect(service.output()).toContain('The embedded PostgreSQL has stopped unexpectedly. Read ');
    const again = await startHere(environment);
    expect((await send(again.url, 'GET', '/readyz')).status).toBe(200);
    await again.stop();
  });
});

/** Sends the request of a printed curl line. */
function sendAsCurl(line: string) {
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
