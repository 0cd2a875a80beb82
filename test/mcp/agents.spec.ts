import { parse } from 'lossless-json';
import { startApp, type TestApp } from '../support/app';
import { moveSequence } from '../support/factories';
import { call, connectAgent, messagesIn, post, readResult, toolCall } from './support';

const DOGS = '9007199254740993';
const BEYOND = 9_007_199_254_740_995n;

const exact = (body: string): any => parse(body, undefined, (digits) => BigInt(digits));

/** For all tests; test/support/app closes it. */
let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startApp();
  key = await app.unlimitedKey();
});

describe('an agent', () => {
  const orders = async () => exact((await app.get('/v1/store/orders?limit=100', { key })).text);

  it('finds two dogs, orders one, loses the response, retries and cancels: one order, exact ids', async () => {
    await moveSequence(app, 'pets', BEYOND);
    await moveSequence(app, 'store_orders', BEYOND);
    const client = await connectAgent(app, key);
    for (const name of ['Ada', 'Bo']) await call(client, 'createPet', { name, categoryId: DOGS });
    const found = await call(client, 'listPets', { status: 'available', categoryId: DOGS, limit: 1 });
    const next = await call(client, 'listPets', {
      status: 'available',
      categoryId: DOGS,
      limit: 1,
      cursor: found.meta['nextCursor'],
    });
    expect(found.texts[1]).toContain(`cursor "${found.meta['nextCursor']}"`);
    expect([...exact(found.body), ...exact(next.body)].map(({ id }) => id)).toEqual([BEYOND, BEYOND + 1n]);
    expect(next.meta['nextCursor']).toBeUndefined();

    const order = { petId: String(BEYOND), 'Idempotency-Key': 'order-of-ada' };
    // Its response is lost.
    await post(app, toolCall(7, 'placeOrder', order), { key });
    const retried = await call(client, 'placeOrder', order);
    expect(retried.isError).toBe(false);
    expect(exact(retried.body)).toMatchObject({ id: BEYOND, petId: BEYOND, status: 'placed' });
    expect(retried.texts).toContain(
      'This is the result of an earlier call with this Idempotency-Key. This call changed nothing.',
    );
    const cancelled = await call(client, 'updateOrder', { orderId: String(BEYOND), status: 'cancelled' });
    expect(exact(cancelled.body)).toMatchObject({ id: BEYOND, status: 'cancelled' });
    expect(await orders()).toHaveLength(1);
    await client.close();
  });

  it('may send an int64 as an integer beyond 2^53, without loss', async () => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"createPet","arguments":{"name":"Rex","categoryId":9223372036854775807}}}`;
    const [{ result }] = messagesIn(await post(app, text, { key }));
    expect(exact(readResult(result).body).categoryId).toBe(9_223_372_036_854_775_807n);
  });

  it('changes only what it read, by the ETag of a result', async () => {
    const client = await connectAgent(app, key);
    const { body, meta, texts } = await call(client, 'createPet', { name: 'Rex', categoryId: 1 });
    const petId = String(exact(body).id);
    expect(texts).toContain(`ETag: ${meta['etag']}`);
    const change = { petId, name: 'Max', 'If-Match': meta['etag'] };
    expect((await call(client, 'updatePet', change)).json.name).toBe('Max');
    expect((await call(client, 'updatePet', { ...change, name: 'Mo' })).json.code).toBe(
      'precondition_failed',
    );
    expect((await call(client, 'deletePet', { petId })).body).toBe('Done (204).');
    await client.close();
  });

  it.each([
    ['an unknown argument', 'listPets', { colour: 'red' }, 'colour is not an argument of this tool.'],
    ['__proto__', 'listPets', JSON.parse('{"__proto__":{"limit":1}}'), '__proto__ is not an argument'],
    ['a missing parameter', 'getPet', {}, 'petId is required, and names one thing.'],
    ['a missing member', 'createPet', { name: 'Rex' }, 'categoryId is missing'],
    ['a value of a wrong type', 'createPet', { name: 7, categoryId: 1 }, 'name must be a string'],
    ['a header with a line break', 'deletePet', { petId: 1, 'If-Match': 'a\r\nb: c' }, 'If-Match must'],
    ['an empty list as a filter', 'listPets', { id: [] }, 'id must be 1 to 100 integers'],
    ['a change without a member', 'updatePet', { petId: 1 }, 'must have at least one of'],
  ])('gets an error for %s, which says what to change', async (_case, name, args, message) => {
    const client = await connectAgent(app, key);
    const { isError, json } = await call(client, name, args);
    expect([isError, json]).toEqual([
      true,
      { code: 'validation_failed', message: expect.stringContaining(message), status: 400 },
    ]);
    await client.close();
  });

  it('reaches no other operation by a parameter of the path', async () => {
    const client = await connectAgent(app, key);
    for (const petId of [
      'a/../../v1/key',
      '%2e%2e',
      '..',
      '.',
      '1?x=1',
      '1#',
      { a: 1 },
      ['1', '2'],
      '\u{d800}',
    ]) {
      const { isError, json } = await call(client, 'getPet', { petId });
      expect([petId, isError, json.status >= 400 && json.status < 405]).toEqual([petId, true, true]);
      expect(['pet_not_found', 'validation_failed']).toContain(json.code);
    }
    await client.close();
  });
});
