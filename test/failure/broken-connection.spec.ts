import { spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { Agent } from 'node:http';
import { startApp } from '../support/app';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { describeWhen } from '../support/it-when';
import { MAX_START_MS, runMain, running } from '../support/service';
import { rejectionOf } from '../support/start';
import { createAuthority, hasOpenssl } from './support/certificates';
import { expectUnavailable } from './support/expect-unavailable';
import { emptyPool } from './support/pool';
import { startTlsProxy } from './support/tls-proxy';

const ADDRESS = '127.0.0.1';

jest.setTimeout(3 * MAX_START_MS);

describeWhen(hasOpenssl, 'openssl is not installed')('a connection to PostgreSQL that cannot be made', () => {
  const authority = createAuthority();
  const other = createAuthority();
  const right = authority.issue(ADDRESS, 2100);
  const wrong = {
    expired: authority.issue(ADDRESS, 2021),
    'for another address': authority.issue('192.0.2.1', 2100),
    'of another authority': other.issue(ADDRESS, 2100),
  };
  let proxy: Awaited<ReturnType<typeof startTlsProxy>>;
  let app: Awaited<ReturnType<typeof startApp>>;
  let url: string;
  beforeAll(async () => {
    proxy = await startTlsProxy(process.env[ADMIN_URL_VARIABLE] ?? '', right);
    const database = await createDatabase();
    url = proxy.through(database.url, `sslmode=verify-full&sslrootcert=${authority.file}`);
    app = await startApp({ databasePoolSize: 3 }, { database: { ...database, url } });
  });
  afterAll(async () => {
    await app.close();
    await proxy.close();
    for (const each of [authority, other]) each.remove();
  });

  const petOf = async () => (await app.post('/v1/pets', aNewPet())).json.id;
  /** @param changedId another animal, because a change that waits for the order could time out */
  const askAll = (petId: number, changedId: number) =>
    Promise.all([
      app.get('/v1/pets'),
      app.get(`/v1/pets/${petId}`),
      app.get('/v1/store/orders'),
      app.post('/v1/pets', aNewPet()),
      app.send('PATCH', `/v1/pets/${changedId}`, { body: { name: 'changed' } }),
      app.post('/v1/store/orders', { petId }),
    ]);
  /** Breaks the connections with more requests than the pool has, and expects 503 until it is repaired. */
  async function expectOutage(fail: () => void, repair: () => void): Promise<void> {
    const pets = [await petOf(), await petOf()] as const;
    fail();
    await emptyPool(app, () => proxy.end());
    for (let round = 0; round < 2; round += 1)
      for (const response of await askAll(...pets)) expectUnavailable(response);
    expect((await app.get('/readyz', { key: undefined })).status).toBe(503);
    expect((await app.get('/livez', { key: undefined })).status).toBe(200);
    repair();
    expect((await askAll(...pets)).map(({ status }) => status)).toEqual([200, 200, 200, 201, 200, 201]);
    expect(app.log.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  }

  it.each(Object.entries(wrong))(
    'is 503 while the certificate is %s, and one sentence at a start',
    async (_what, certificate) => {
      await expectOutage(
        () => (proxy.certificate = certificate),
        () => (proxy.certificate = right),
      );
      proxy.certificate = certificate;
      const sentence = await rejectionOf({ DATABASE_URL: url });
      proxy.certificate = right;
      expect(sentence).toMatch(/^The TLS connection to the database fails \(.+\): correct .+\.$/);
    },
  );

  it.each<[string, () => void, () => void]>([
    ['removed', () => undefined, () => undefined],
    ['unreadable', () => mkdirSync(authority.file), () => rmdirSync(authority.file)],
  ])('is 503 while the file of sslrootcert is %s', async (_what, replace, restore) => {
    await expectOutage(
      () => {
        renameSync(authority.file, `${authority.file}.old`);
        replace();
      },
      () => {
        restore();
        renameSync(`${authority.file}.old`, authority.file);
      },
    );
  });

  it('ends the start in one sentence if Node.js does not know the authority, or the server has no channel binding', async () => {
    const start = (parameters: string) => rejectionOf({ DATABASE_URL: proxy.through(url, parameters) });
    expect(await start('sslrootcert=system')).toMatch(/^The TLS connection .* \(unable to verify .*\)/);
    const unbound = await start(`channel_binding=require&sslrootcert=${authority.file}`);
    expect(unbound).toMatch(
      /^The database cannot be reached \(.*\): check DATABASE_URL, and that the server/,
    );
  });

  it('prints no warning of the driver for sslmode=require, which verifies the certificate', async () => {
    const emitted = jest.spyOn(process, 'emitWarning');
    const sentence = await rejectionOf({ DATABASE_URL: proxy.through(url, 'sslmode=require') });
    expect(sentence).toMatch(/^The TLS connection to the database fails \(unable to verify .*\)/);
    expect(emitted).not.toHaveBeenCalled();
    emitted.mockRestore();
  });

  it('is 503 without a free file descriptor; with one the service works again, and stops', async () => {
    const service = await running(runMain({ DATABASE_URL: url }));
    const pid = String(service.child.pid);
    const key = app.key;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = (path: string) => send(service.url, 'GET', path, { key, agent });
    expect((await get('/v1/pets')).status).toBe(200);
    // No file descriptor above it can be opened. Those below it are open since the start.
    const limit = (files: number) => spawnSync('prlimit', ['--pid', pid, `--nofile=${files}:`]);
    expect(limit(10).status).toBe(0);
    proxy.end();
    for (let round = 0; round < 5; round += 1) expectUnavailable(await get(`/v1/pets/${round}`));
    limit(1_000);
    expect((await get('/v1/pets')).status).toBe(200);
    agent.destroy();
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });
});
