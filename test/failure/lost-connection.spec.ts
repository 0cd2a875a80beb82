import { DEFAULT_SCOPES } from '../../src/app/store';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { holdMeasuredTime, pass } from '../support/timers';
import { until } from '../support/until';
import { type CutApp, startCutApp } from './support/cut-app';
import { expectAsStored, expectUnavailable, isOutcomeUnknown } from './support/expect-unavailable';
import { query } from './support/own-server';
import { poolOf } from './support/pool';

/** Places in the handshake, in a statement and in its result. Alternately the connection ends by FIN and by RST. */
const CUTS = (['to the server', 'from the server'] as const).flatMap((direction) =>
  [0, 211, 422, 633].map((bytes) => ({ direction, bytes, isReset: bytes % 2 === 1 })),
);

describe('a connection to PostgreSQL that is lost during a request', () => {
  let cutApp: CutApp;
  beforeAll(async () => {
    cutApp = await startCutApp();
  });
  afterAll(() => cutApp.close());

  it('POST /v1/pets is 201 or 503, and the response says if the animal exists; it never exists twice', async () => {
    const { app, proxy, key, directUrl } = cutApp;
    const stored: Record<string, number> = {};
    const responses: Record<string, HttpResponse> = {};
    for (const { bytes, direction, isReset } of CUTS) {
      const name = `cut after ${bytes} bytes ${direction}`;
      await cutApp.endConnections();
      proxy.cutAfter(bytes, direction, isReset);
      responses[name] = await app.post('/v1/pets', aNewPet({ name }), { key });
      proxy.heal();
    }
    for (const { name } of await query<{ name: string }>(directUrl, 'SELECT name FROM pets'))
      stored[name] = (stored[name] ?? 0) + 1;
    for (const [name, response] of Object.entries(responses)) expectAsStored(response, stored[name] ?? 0);
  });

  describe('during a statement', () => {
    let petId: number;
    let orderId: number;
    beforeEach(async () => {
      petId = (await send('POST', '/v1/pets', aNewPet())).json.id;
      const ordered = (await send('POST', '/v1/pets', aNewPet())).json;
      orderId = (await send('POST', '/v1/store/orders', { petId: ordered.id })).json.id;
    });

    const send = (method: string, path: string, body?: object, headers = {}) =>
      cutApp.app.send(method, path, { key: cutApp.key, body, headers });
    const getPet = () => send('GET', `/v1/pets/${petId}`);
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

    it.each([
      ['createPet', 'pets_insert', createPet],
      ['placeOrder', 'COMMIT', order],
      ['updateOrder', 'COMMIT', approve],
      ['updatePet', 'COMMIT', updatePet],
      ['deletePet', 'COMMIT', deletePet],
    ])(
      '%s is 503 of unknown outcome if the response to %s is lost; the work is done',
      async (_operation, statement, ask) => {
        const before = await stored();
        cutApp.proxy.loseResponseTo(statement);
        const response = await ask();
        expectUnavailable(response);
        expect(isOutcomeUnknown(response)).toBe(true);
        expect(await stored()).not.toEqual(before);
      },
    );

    it.each([
      ['placeOrder', 'store_orders_insert', order],
      ['updateOrder', 'UPDATE "store_orders"', approve],
      ['updatePet', 'FOR UPDATE', updatePet],
      ['updatePet', 'UPDATE "pets"', updatePet],
      ['deletePet', 'DELETE FROM "pets"', deletePet],
      [
        'createPet with an Idempotency-Key',
        'idempotency_store',
        () => createPet({ 'idempotency-key': 'undone' }),
      ],
      ['listPets', 'pets_list', () => send('GET', '/v1/pets')],
      ['getPet', 'pets_find', getPet],
      ['listOrders', 'store_orders_list', () => send('GET', '/v1/store/orders')],
      ['getOrder', 'FROM "store_orders"', getOrder],
      ['getKey', 'api_keys_refresh', getKey],
    ])(
      '%s is 503 without effect if the response to %s is lost; no work is done',
      async (_operation, statement, ask) => {
        const before = await stored();
        cutApp.proxy.loseResponseTo(statement);
        const response = await ask();
        expectUnavailable(response);
        expect(isOutcomeUnknown(response)).toBe(false);
        expect(await stored()).toEqual(before);
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
  afterAll(async () => {
    await cutApp.close();
    jest.useRealTimers();
  });

  const get = (path: string) => cutApp.app.get(path, { key: cutApp.key });

  /** When the pipelined connection is open, a read needs no connection of the pool. */
  const openPipelined = () =>
    until(async () => {
      pass({ seconds: 1 });
      const acquired = jest.fn();
      const pool = poolOf(cutApp.app).on('acquire', acquired);
      const { status } = await get('/v1/pets/0');
      pool.off('acquire', acquired);
      expect([404, 503]).toContain(status);
      return status === 404 && acquired.mock.calls.length === 0;
    });

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

  it('each read has its own result: the pool repeats it', async () => {
    const textsOf = async () => (await Promise.all(paths.map(get))).map(({ status, text }) => [status, text]);
    const expected = await textsOf();
    const cuts = await cutEach('pets_find', async () => expect(await textsOf()).toEqual(expected));
    expect(cuts).toBeGreaterThan(3);
  });

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

const NAMED = 'SELECT name FROM pets WHERE starts_with(name, $1)';

/** The database rejects animals of this name, and with them the statement that inserts others, too. */
const REJECT = `
  CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.name LIKE '%, rejected' THEN RAISE 'no' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$;
  CREATE TRIGGER reject BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION reject()`;

const STORED = `
  SELECT 'animal', status, count(*) FROM pets GROUP BY status UNION ALL
  SELECT 'order', status, count(*) FROM store_orders GROUP BY status ORDER BY 1, 2`;
