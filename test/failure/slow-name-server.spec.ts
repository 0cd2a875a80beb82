import type { LookupAllOptions } from 'node:dns';
import dns from 'node:dns/promises';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { holdTimers, passWhile } from '../support/timers';
import { until } from '../support/until';
import { type CuttingProxy, startCuttingProxy } from './support/cutting-proxy';
import { expectUnavailable } from './support/expect-unavailable';
import { poolOf } from './support/pool';

const HOST = 'database.test';
const ROUNDS = 3;

describe('a name server that takes longer than DATABASE_POOL_WAIT_MS', () => {
  const waiting: (() => void)[] = [];
  let isSlow = false;
  let proxy: CuttingProxy;
  let app: TestApp;
  beforeAll(async () => {
    const { lookup } = dns;
    const address = { address: '127.0.0.1', family: 4 };
    jest.spyOn(dns, 'lookup').mockImplementation(((host: string, options: LookupAllOptions) => {
      if (host !== HOST) return lookup(host, options);
      return new Promise((resolve) => (isSlow ? waiting.push(() => resolve([address])) : resolve([address])));
    }) as never);
    proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
    const database = await createDatabase();
    const url = proxy.through(database.url).replace('127.0.0.1', HOST);
    app = await startApp({}, { database: { ...database, url } });
  });
  afterAll(async () => {
    jest.useRealTimers();
    isSlow = false;
    for (const answer of waiting) answer();
    await app.close();
    await proxy.close();
    jest.restoreAllMocks();
  });

  it('holds one thread, not one for each attempt to connect, and its response ends the outage', async () => {
    isSlow = true;
    holdTimers({ timeouts: true });
    await until(() => {
      proxy.end();
      return poolOf(app).totalCount === 0;
    });
    for (let round = 0; round < ROUNDS; round += 1) expectUnavailable(await passWhile(app.get('/v1/pets')));
    expect(waiting).toHaveLength(1);
    const asked = app.get('/v1/pets');
    await until(() => poolOf(app).totalCount > 0);
    isSlow = false;
    waiting[0]!();
    expect((await asked).status).toBe(200);
  });
});
