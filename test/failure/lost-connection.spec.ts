import { DEFAULT_SCOPES } from '../../src/app/store';
import { aNewPet } from '../support/factories';
import { holdMeasuredTime } from '../support/timers';
import { BURST_POOL_SIZE, JOINED, sweepCreations, sweepReads } from './support/burst-sweep';
import { expectUnavailable, isOutcomeUnknown } from './support/expect-unavailable';
import { type CutApp, startCutApp, sweepPets } from './support/fault-sweep';
import { query } from './support/own-server';

/** For a few places, in messages of both directions. `test:long` cuts after every byte, and sweeps every operation. */
const STRIDE = 211;

describe('a connection to PostgreSQL that is lost during a request', () => {
  let cutApp: CutApp;
  beforeAll(async () => {
    cutApp = await startCutApp();
  });
  afterAll(() => cutApp.close());

  it('POST /v1/pets is 201 or 503, and the response says if the animal exists; it never exists twice', async () => {
    expect((await sweepPets(cutApp, STRIDE)).length).toBeGreaterThan(3);
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
      ['getKey', 'api_keys_by_secrets', getKey],
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
      expect((await send('GET', again.headers['location']!)).text).toBe(again.text);
    });
  });
});

describe('a connection to PostgreSQL that is lost while requests share it', () => {
  let cutApp: CutApp;
  beforeAll(async () => {
    holdMeasuredTime();
    cutApp = await startCutApp(BURST_POOL_SIZE, DEFAULT_SCOPES);
  });
  afterAll(async () => {
    await cutApp.close();
    jest.useRealTimers();
  });

  it('each read has its own result: the pool repeats it', async () => {
    const { cuts, unavailable, pooled } = await sweepReads(cutApp, 2 * STRIDE);
    expect(unavailable).toBe(0);
    expect(cuts).toBeGreaterThan(3);
    expect(pooled).toBeGreaterThan(2 * cuts);
  });

  it.each([
    ['the connection of the statement', { sent: JOINED, hasRejected: true }],
    ['every connection', {}],
  ])(
    'each joined creation is 201, 503 or its own error, and its response says if the animal exists: %s',
    async (_lost, cut) => {
      const { cuts, joined } = await sweepCreations(cutApp, STRIDE, cut);
      expect(joined).toBeGreaterThan(2);
      expect(cuts).toBeGreaterThanOrEqual(joined);
    },
  );
});

const STORED = `
  SELECT 'animal', status, count(*) FROM pets GROUP BY status UNION ALL
  SELECT 'order', status, count(*) FROM store_orders GROUP BY status ORDER BY 1, 2`;
