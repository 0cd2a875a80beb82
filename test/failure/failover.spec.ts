import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { GivenConfig } from '../../src/app/build';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { MAX_START_MS } from '../support/service';
import { holdTimers } from '../support/timers';
import { until } from '../support/until';
import { createWebhook, type Receiver, startReceiver } from '../webhooks/support/receivers';
import { expectUnavailable } from './support/expect-unavailable';
import { once as query } from '../support/once';
import { describeWithPair, type Pair, startPair } from './support/pair';
import { emptyPool } from './support/pool';

jest.setTimeout(2 * MAX_START_MS);

/** More than PostgreSQL reserves of a sequence at a time: their positions are used again. */
const LOST = Array.from({ length: 40 }, (_, at) => `lost ${at}`);
const NEW = LOST.map((each) => `${each} again`);
const START = '/v1/events?limit=100';

describeWithPair('after a failover behind one endpoint', () => {
  let pair: Pair;
  let app: TestApp;
  let key: string;
  let receiver: Receiver;
  beforeAll(async () => {
    holdTimers();
    pair = await startPair();
    const { database } = pair;
    app = await startApp({ databasePoolSize: 9, webhooksAllowPrivate: true } as GivenConfig, { database });
    key = await app.unlimitedKey();
    receiver = await startReceiver();
    await createWebhook(app, { url: receiver.url, types: ['pet.created'] }, { key });
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    jest.useRealTimers();
    await app.close();
    await receiver.close();
    await pair.remove();
  });

  const now = performance.now.bind(performance);
  let aheadMs = 0;

  /** Expects success of more requests at a time than the service has connections. */
  async function expectAll(): Promise<void> {
    const asked = Array.from({ length: 15 }, (_, at) => [
      app.get(`/v1/pets?limit=${at + 1}`, { key }),
      app.post('/v1/pets', aNewPet(), { key }),
      app.get('/v1/webhooks', { key }),
      app.get('/readyz', { key: undefined }),
    ]);
    const responses = await Promise.all(asked.flat());
    expect(responses.filter(({ status }) => status >= 300)).toEqual([]);
  }

  /** Leads new connections to another server. Expects that one change fails at most, and that every later request succeeds. */
  async function expectMove(url: string): Promise<void> {
    pair.proxy.leadTo(url);
    // The connections are renewed at most once a second, and a fast machine has just done so.
    aheadMs += 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    const statuses: number[] = [];
    while (statuses.at(-1) !== 201 && statuses.length < 10)
      statuses.push((await app.post('/v1/pets', aNewPet(), { key })).status);
    // Work in the background may have found it first.
    expect([[201], [503, 201]]).toContainEqual(statuses);
    await expectAll();
  }

  /** @returns its id */
  async function add(name: string, once: string = randomUUID()): Promise<number> {
    const headers = { 'idempotency-key': once };
    const { status, json } = await app.post('/v1/pets', aNewPet({ name }), { key, headers });
    expect(status).toBe(201);
    return json.id;
  }

  /** Delivers until the condition holds. Work fails on a connection to the old primary, and leaves a lease of 30 s. */
  const deliverUntil = (condition: () => boolean | Promise<boolean>) =>
    until(async () => {
      await app.runDueWork().catch(() => undefined);
      app.clock.advance({ seconds: 31 });
      return condition();
    });
  const delivered = (name: string) => deliverUntil(() => receiver.seen().includes(name));

  /** Reads the feed from a link to the event of an animal. */
  async function read(path: string, name: string) {
    const names: string[] = [];
    for (let next = path; ;) {
      const page = await app.get(next, { key });
      expect(page.status).toBe(200);
      names.push(...page.json.map(({ data }: { data: { name: string } }) => data.name));
      next = linksOf(page)['next']!;
      if (names.includes(name)) return { names, next };
    }
  }

  it('fails one change at most; readers and webhooks continue from kept events, the cursor of a lost one is 410, and a lost Idempotency-Key does its work again', async () => {
    const { primary, standby, proxy } = pair;
    await expectAll();
    // The connections to a standby are closed together.
    proxy.leadTo(standby.url);
    await emptyPool(app, () => proxy.end());
    expect((await app.get('/v1/pets', { key })).status).toBe(200);
    expectUnavailable(await app.post('/v1/pets', aNewPet(), { key }));
    // Each read opens a connection, because all are busy.
    await Promise.all(Array.from({ length: 30 }, () => app.get('/v1/webhooks', { key })));
    await expectMove(primary.url);

    const [ofKept, ofLost] = [randomUUID(), randomUUID()];
    const kept = await add('kept', ofKept);
    await delivered('kept');
    const { next: known } = await read(START, 'kept');
    await deliverUntil(async () => {
      const idle = `SELECT * FROM webhooks WHERE due_at <= '${new Date(app.clock.now()).toISOString()}'`;
      const [one, other] = await Promise.all([primary, standby].map(({ url }) => query(url, idle)));
      return one?.length === 1 && JSON.stringify(one) === JSON.stringify(other);
    });
    standby.crash();
    // The new primary uses the numbers of the lost transactions again. An event of it may not have the id of the lost cursor.
    await query(
      primary.url,
      'DO $$ BEGIN FOR at IN 1..500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$',
    );
    const lost = await add('first', ofLost);
    for (const each of LOST) await add(each);
    await delivered(LOST.at(-1)!);
    const { next: unknown } = await read(known, LOST.at(-1)!);
    primary.crash();
    standby.start();
    standby.promote();
    proxy.leadTo(standby.url);
    // A connection may lead to the crashed primary.
    await until(async () => (await app.get('/readyz', { key: undefined })).status === 200);

    expect(await add('kept', ofKept)).toBe(kept);
    expect(await add('first', ofLost)).not.toBe(lost);
    for (const each of NEW) await add(each);
    await delivered(NEW.at(-1)!);
    const expected = ['first', ...NEW];
    expect((await read(known, NEW.at(-1)!)).names).toEqual(expected);
    expect(receiver.seen().slice(-expected.length)).toEqual(expected);
    expectError(await app.get(unknown, { key }), 410, 'cursor_expired');

    await expectAll();
    // So are those to a primary that became read-only, a busy one after its transaction.
    primary.start();
    const lock = new Client({ connectionString: standby.url });
    await lock.connect();
    await lock.query(`BEGIN; SELECT FROM pets WHERE id = ${kept} FOR UPDATE`);
    const busy = app.send('PATCH', `/v1/pets/${kept}`, { body: { name: 'busy' }, key });
    const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
    await until(async () => (await query(standby.url, waits)).length > 0);
    await query(standby.url, 'ALTER SYSTEM SET default_transaction_read_only = on');
    await query(standby.url, 'SELECT pg_reload_conf()');
    expect(proxy.count).toBeGreaterThan(3);
    await expectMove(primary.url);
    await lock.end();
    await busy;
    // The pool uses the connection that became idle last.
    const post = async () => (await app.post('/v1/pets', aNewPet(), { key })).status;
    expect(await post()).toBe(201);

    // All connections are renewed while the endpoint still leads to the old primary, and within a second to the new one.
    proxy.leadTo(standby.url);
    await emptyPool(app, () => proxy.end());
    jest.spyOn(performance, 'now').mockReturnValue(now() + aheadMs + 1_000);
    await until(async () => (await post()) === 503);
    await Promise.all(Array.from({ length: 30 }, () => app.get('/v1/webhooks', { key })));
    proxy.leadTo(primary.url);
    await until(async () => (await post()) === 201);
    await expectAll();
    const others = `SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    // Otherwise they would end after 30 s without a request.
    await until(async () => (await query(standby.url, others)).length === 0, 20_000);
  });
});
