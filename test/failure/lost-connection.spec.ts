import { Socket } from 'node:net';
import { DEFAULT_SCOPES } from '../../src/app/store';
import { startApp } from '../support/app';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { holdMeasuredTime, holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { startCuttingProxy } from './support/cutting-proxy';
import { expectAsStored, expectUnavailable, isOutcomeUnknown } from './support/expect-unavailable';
import { once as query } from '../support/once';
import { emptyPool, poolOf, untilShared } from './support/pool';

/** Places in the handshake, in a statement and in its result. Alternately the connection ends by FIN and by RST. */
const CUTS = (['to the server', 'from the server'] as const).flatMap((direction) =>
  [0, 211, 422, 633].map((bytes) => ({ direction, bytes, isReset: bytes % 2 === 1 })),
);

type CutApp = Awaited<ReturnType<typeof startCutApp>>;

/**
 * Starts the service with few connections to PostgreSQL, through a proxy that can cut them.
 *
 * @param databasePoolSize 1 for a single connection, which is not pipelined
 * @param scopes of the key; default: all
 */
async function startCutApp(databasePoolSize = 1, scopes?: typeof DEFAULT_SCOPES) {
  const proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
  const database = await createDatabase();
  const behindProxy = { ...database, url: proxy.through(database.url) };
  const app = await startApp({ databasePoolSize }, { database: behindProxy });
  return {
    app,
    proxy,
    directUrl: database.directUrl,
    key: await app.unlimitedKey(scopes),
    /** Ends every connection, so that the next request must open one. */
    endConnections: () => emptyPool(app, () => proxy.end()),
    close: async () => {
      await app.close();
      await proxy.close();
      jest.useRealTimers();
    },
  };
}

describe('a connection to PostgreSQL that is lost during a request', () => {
  let cutApp: CutApp;
  beforeAll(async () => {
    // The proxy would lose responses to periodic work.
    holdTimers();
    cutApp = await startCutApp();
  });
  afterAll(() => cutApp.close());

  let petId: number;
  let orderId: number;
  beforeEach(async () => {
    petId = (await send('POST', '/v1/pets', aNewPet())).json.id;
    const ordered = (await send('POST', '/v1/pets', aNewPet())).json;
    orderId = (await send('POST', '/v1/store/orders', { petId: ordered.id })).json.id;
  });

  const send = (method: string, path: string, body?: object, headers = {}) =>
    cutApp.app.send(method, path, { key: cutApp.key, body, headers });
  const getKey = () => {
    // Until then the key is cached.
    cutApp.app.clock.advance({ seconds: 5 });
    return send('GET', '/v1/key');
  };
  const getOrder = () => send('GET', `/v1/store/orders/${orderId}`);
  const createPet = (headers = {}) => send('POST', '/v1/pets', aNewPet(), headers);
  const order = (headers = {}) => send('POST', '/v1/store/orders', { petId }, headers);
  const approve = () => send('PATCH', `/v1/store/orders/${orderId}`, { status: 'approved' });
  const updatePet = () => send('PATCH', `/v1/pets/${petId}`, { name: 'changed', status: 'sold' });
  const deletePet = () => send('DELETE', `/v1/pets/${petId}`);
  const stored = () => query(cutApp.directUrl, STORED);

  it.each<[string, string, 'unknown' | 'none', () => Promise<HttpResponse>]>([
    ['createPet', 'pets_insert', 'unknown', createPet],
    ['placeOrder', 'COMMIT', 'unknown', order],
    ['updatePet', 'COMMIT', 'unknown', updatePet],
    ['updateOrder', 'store_orders_update', 'none', approve],
    ['updatePet', 'UPDATE "pets"', 'none', updatePet],
    ['deletePet', 'DELETE FROM "pets"', 'none', deletePet],
    ['createPet, once', 'idempotency_keys_insert', 'none', () => createPet({ 'idempotency-key': 'undone' })],
    ['listPets', 'pets_select', 'none', () => send('GET', '/v1/pets')],
    ['getOrder', 'store_orders_select', 'none', getOrder],
    ['getKey', 'api_keys_select', 'none', getKey],
  ])(
    '%s is 503 if the response to %s is lost. Its effect is %s: only a lost commit is done',
    async (_operation, statement, effect, ask) => {
      const before = JSON.stringify(await stored());
      cutApp.proxy.loseResponseTo(statement);
      const response = await ask();
      expectUnavailable(response);
      const isUnknown = effect === 'unknown';
      expect(isOutcomeUnknown(response)).toBe(isUnknown);
      expect(JSON.stringify(await stored()) !== before).toBe(isUnknown);
    },
  );

  it('a retry with the same Idempotency-Key after a lost commit gets the stored response', async () => {
    const headers = { 'idempotency-key': 'committed' };
    cutApp.proxy.loseResponseTo('COMMIT');
    expect(isOutcomeUnknown(await order(headers))).toBe(true);
    const again = await order(headers);
    expect(again).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
    expect((await send('GET', again.headers['location']!)).json).toMatchObject(again.json);
  });
});

describe('a connection to PostgreSQL that is lost while requests share it', () => {
  let cutApp: CutApp;
  let paths: string[];
  beforeAll(async () => {
    holdMeasuredTime();
    // One pipelined connection, and a pool of two.
    cutApp = await startCutApp(3, DEFAULT_SCOPES);
    const ids: number[] = [];
    for (const status of ['available', 'sold'])
      ids.push((await cutApp.app.post('/v1/pets', aNewPet({ status }), { key: cutApp.key })).json.id);
    await cutApp.app.post('/v1/store/orders', { petId: ids[0] }, { key: cutApp.key });
    paths = [
      `/v1/pets/${ids[1]}`,
      '/v1/pets/0',
      '/v1/pets?limit=1',
      '/v1/pets?limit=1&status=sold',
      '/v1/store/orders?limit=1',
      '/v1/pets?limit=1&categoryId=3&sort=-id',
    ];
  });
  afterAll(() => cutApp.close());

  const get = (path: string) => cutApp.app.get(path, { key: cutApp.key });

  /** When the pipelined connection is open, a read needs no connection of the pool. */
  const openPipelined = () => untilShared(cutApp.app, () => get('/v1/pets/0'));

  /**
   * Sends the requests of `ask` for each place of a cut.
   *
   * @param sent cuts only the connection that sends this text first; undefined cuts every connection
   * @returns the number of cuts
   */
  async function cutEach(sent: string | undefined, ask: (cut: string) => Promise<void>): Promise<number> {
    let cuts = 0;
    for (const { bytes, direction, isReset } of CUTS) {
      await openPipelined();
      cutApp.proxy.cutAfter(bytes, direction, isReset, sent);
      await ask(`${sent ?? 'all'} cut after ${bytes} bytes ${direction}`);
      if (cutApp.proxy.heal()) cuts += 1;
      if (sent === undefined) await cutApp.endConnections();
    }
    return cuts;
  }

  it.each(['pets_select', 'migrations'])(
    'each read has its own result: the pool repeats it (%s)',
    async (sent) => {
      const all = [...paths, '/readyz'];
      const textsOf = async () => (await Promise.all(all.map(get))).map(({ status, text }) => [status, text]);
      const expected = await textsOf();
      const cuts = await cutEach(sent, async () => expect(await textsOf()).toEqual(expected));
      expect(cuts).toBeGreaterThan(1);
    },
  );

  it.each([
    ['the connection of the statement', 'pets_insert', ', rejected'],
    ['every connection', undefined, ''],
  ])(
    'each joined creation is 201, 503 or its own error, and its response says if the animal exists: %s',
    async (_lost, sent, third) => {
      const { app, key } = cutApp;
      await app.database.query(REJECT);
      const { text: expected } = await get(paths[0]!);
      let joined = 0;
      const cuts = await cutEach(sent, async (cut) => {
        const names = Array.from({ length: 6 }, (_, at) => `${cut}: ${at}${at === 2 ? third : ''}`);
        const [read, ...created] = await Promise.all([
          get(paths[0]!),
          ...names.map((name) => app.post('/v1/pets', aNewPet({ name }), { key })),
        ]);
        expect([200, 503]).toContain(read.status);
        expect(read.status === 200 ? read.text : expected).toBe(expected);
        const stored = await app.database.query<{ name: string }>(NAMED, [`${cut}: `]);
        for (const [at, response] of created.entries()) {
          const name = names[at]!;
          const count = stored.filter((row) => row.name === name).length;
          expect(response.json.name ?? name).toBe(name);
          expectAsStored(response, count, name.endsWith('rejected') ? 500 : 201);
        }
        // Several creations of unknown outcome have shared a statement.
        if (created.filter(isOutcomeUnknown).length > 1) joined += 1;
      });
      await app.database.query('DROP FUNCTION reject CASCADE');
      expect([cuts, joined].map((count) => count > 2)).toEqual([true, true]);
    },
  );
});

describe('an idle connection to PostgreSQL', () => {
  it('ends within 30 s, also one that requests share, and TCP keeps it alive meanwhile', async () => {
    const keepAlive = jest.spyOn(Socket.prototype, 'setKeepAlive');
    holdTimers({ timeouts: true, measured: true });
    const { app, proxy, key, close } = await startCutApp(3, DEFAULT_SCOPES);
    const shared = () => proxy.count - poolOf(app).totalCount;
    await untilShared(app, () => app.get('/v1/pets/0', { key }));
    expect(shared()).toBe(1);
    expect(keepAlive.mock.calls.some(([isOn, delayMs = 0]) => isOn === true && delayMs > 0)).toBe(true);
    expect(keepAlive.mock.calls.every(([, delayMs = 0]) => delayMs <= 60_000)).toBe(true);
    pass({ seconds: 31 });
    await until(() => shared() === 0);
    jest.useRealTimers();
    keepAlive.mockRestore();
    await close();
  });
});

const NAMED = 'SELECT name FROM pets WHERE starts_with(name, $1)';

/** The database rejects animals of this name, and with them the statement that inserts others, too. */
const REJECT = `
  CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.name LIKE '%, rejected' THEN RAISE 'no' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$;
  CREATE TRIGGER reject BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION reject()`;

const STORED = `
  SELECT 'animal', status, count(*) FROM pets GROUP BY status UNION ALL
  SELECT 'order', status, count(*) FROM store_orders GROUP BY status ORDER BY 1, 2`;
