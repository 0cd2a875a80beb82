import type { QueryConfig } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { createDatabase } from '../support/database';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { rejectionOf } from '../support/start';
import { type CuttingProxy, startCuttingProxy } from './support/cutting-proxy';
import { expectUnavailable, isOutcomeUnknown } from './support/expect-unavailable';
import { poolOf } from './support/pool';

const POOLER = /The pooler in front of the database opens transactions of its own/;

// The proxy reports the status as a pooler does that begins transactions of its own.
describe('behind a pooler that begins transactions of its own', () => {
  let proxy: CuttingProxy;
  let url: string;
  let app: TestApp;
  let petId: number;
  beforeAll(async () => {
    const database = await createDatabase();
    proxy = await startCuttingProxy(database.url);
    url = proxy.through(database.url);
    app = await startApp({ databasePoolSize: 1 }, { database: { ...database, url } });
  });
  beforeEach(async () => {
    petId = (await create()).json.id;
  });
  afterEach(() => (proxy.replaced = undefined));
  afterAll(async () => {
    await app.close();
    await proxy.close();
  });

  const create = () => app.post('/v1/pets', aNewPet());
  const order = () => app.post('/v1/store/orders', { petId });
  const report = (tag: string, from: string, to: string) =>
    (proxy.replaced = [`${tag}\0Z\0\0\0\x05${from}`, `${tag}\0Z\0\0\0\x05${to}`]);

  it.each<[string, [tag: string, from: string, to: string], string, () => Promise<HttpResponse>]>([
    ['a statement leaves a transaction', ['INSERT 0 1', 'I', 'T'], 'unknown', create],
    ['COMMIT leaves a transaction', ['COMMIT', 'I', 'T'], 'unknown', order],
    ['BEGIN leaves none', ['START TRANSACTION', 'T', 'I'], 'none', order],
    ['a statement ends it', ['INSERT 0 1', 'T', 'I'], 'none', order],
    ['a SELECT leaves one', ['SELECT 1', 'I', 'T'], 'none', () => app.get(`/v1/pets/${petId}`)],
  ])('a request is 503 if %s', async (_what, status, effect, act) => {
    report(...status);
    const response = await act();
    expectUnavailable(response);
    expect(isOutcomeUnknown(response)).toBe(effect === 'unknown');
    expect(app.log.slice(-2).join()).toMatch(POOLER);
    proxy.replaced = undefined;
    expect((await create()).status).toBe(201);
  });

  it('a connection with a transaction after ROLLBACK is closed', async () => {
    expect((await order()).status).toBe(201);
    report('ROLLBACK', 'I', 'T');
    const removed = new Promise((resolve) => poolOf(app).once('remove', resolve));
    expect((await order()).status).toBe(409);
    await removed;
  });

  it.each(['', 'SELECT 0'])('a start and a command have one sentence (%j)', async (tag) => {
    report(tag, 'I', 'T');
    const sentence = await rejectionOf({ DATABASE_URL: url });
    report('COMMIT', 'I', 'T');
    const { status, all } = await runCli(['keys', 'create', '--account=acme'], { DATABASE_URL: url });
    expect([status, sentence, all.trim()]).toEqual([1, expect.stringMatching(POOLER), sentence]);
  });
});

it('a transaction returns to a savepoint while its other statements run', async () => {
  const app = await startApp();
  const { manager } = app.nest.get(DataSource);
  const lost = new Error('lost');
  const read = (transaction: EntityManager) => transaction.query('SELECT 1');
  await manager.transaction(async (transaction) => {
    const inner = transaction.transaction(() => Promise.reject(lost));
    const reads = (async () => {
      for (let count = 0; count < 5; count += 1) await read(transaction);
    })();
    expect(await Promise.allSettled([inner, reads])).toMatchObject([
      { reason: lost },
      { status: 'fulfilled' },
    ]);
  });
  await app.close();
});

it.each<[string, ...(string | QueryConfig)[]]>([
  ['COMMIT;', 'BEGIN', 'INSERT', 'COMMIT;'],
  ['a config', { text: 'BEGIN' }, 'INSERT', { text: 'COMMIT' }],
  ['several statements', 'BEGIN; INSERT; COMMIT'],
  ['ABORT', 'BEGIN', 'ABORT', 'INSERT'],
  ['a COMMIT that fails', 'BEGIN', 'SET CONSTRAINTS ALL DEFERRED', 'INSERT', 'INSERT', 'COMMIT', 'INSERT'],
])('a transaction of an extension may end by %s', async (_name, ...sent) => {
  const app = await startApp({ databasePoolSize: 1 });
  await app.database.query('CREATE TABLE ends (id int UNIQUE DEFERRABLE)');
  const client = await poolOf(app).connect();
  const failed: unknown[] = [];
  for (const each of sent) {
    const statement = typeof each === 'string' ? each.replace('INSERT', 'INSERT INTO ends VALUES (1)') : each;
    await client.query(statement as string).catch((error) => failed.push(error.code ?? error.message));
  }
  client.release();
  // That of the row that is there twice.
  expect(failed.filter((code) => code !== '23505')).toEqual([]);
  expect(await app.database.query('SELECT id FROM ends')).toEqual([{ id: 1 }]);
  await app.close();
});
