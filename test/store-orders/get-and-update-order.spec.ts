import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';

const PATH = '/v1/store/orders';
const STATUSES = ['placed', 'approved', 'delivered', 'cancelled'];

/** The updates that bring a placed order to each status. */
const WAYS: Record<string, string[]> = {
  placed: [],
  approved: ['approved'],
  delivered: ['approved', 'delivered'],
  cancelled: ['cancelled'],
};
const ALLOWED = new Set(['placed approved', 'placed cancelled', 'approved delivered', 'approved cancelled']);
const PET_STATUS: Record<string, string> = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  cancelled: 'available',
};

describe('GET and PATCH /v1/store/orders/{orderId} (getOrder, updateOrder)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const update = (id: number, status: string) => app.send('PATCH', `${PATH}/${id}`, { body: { status } });
  const statusOfPet = async (petId: number) => (await app.get(`/v1/pets/${petId}`)).json.status as string;

  async function orderThatIs(status: string): Promise<{ id: number; petId: number }> {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const { id } = (await app.post(PATH, { petId })).json;
    for (const next of WAYS[status]!) expect((await update(id, next)).status).toBe(200);
    return { id, petId };
  }

  describe.each(STATUSES)('an order that is %s', (from) => {
    it.each(STATUSES)(
      '200 for the update to %s if the transition is allowed or nothing changes, else 409 without a change',
      async (to) => {
        const { id, petId } = await orderThatIs(from);
        const before = await app.get(`${PATH}/${id}`);
        const response = await update(id, to);
        const isAllowed = from === to || ALLOWED.has(`${from} ${to}`);
        expect(response).toMatchObject(
          isAllowed
            ? { status: 200, json: { id, petId, status: to } }
            : { status: 409, json: { code: 'invalid_transition', status: 409 } },
        );
        const after = await app.get(`${PATH}/${id}`);
        expect(after.text).toBe(isAllowed ? response.text : before.text);
        expect(await statusOfPet(petId)).toBe(PET_STATUS[isAllowed ? to : from]);
      },
    );
  });

  it('409 invalid_transition names both statuses', async () => {
    const { id } = await orderThatIs('delivered');
    expect((await update(id, 'cancelled')).json.message).toBe(
      'An order that is delivered cannot become cancelled.',
    );
  });

  it('the animal of a cancelled order can be ordered again; the old order stays cancelled', async () => {
    const { id, petId } = await orderThatIs('cancelled');
    expect((await app.post(PATH, { petId })).status).toBe(201);
    expect((await app.get(`${PATH}/${id}`)).json.status).toBe('cancelled');
  });

  it.each(['available', 'sold'])(
    '409 pet_not_available, and the order does not change, if its animal is already %s',
    async (status) => {
      const { id, petId } = await orderThatIs('approved');
      await app.database.query('UPDATE pets SET status = $2 WHERE id = $1', [petId, status]);
      expectError(await update(id, 'delivered'), 409, 'pet_not_available');
      expect((await app.get(`${PATH}/${id}`)).json.status).toBe('approved');
      expect(await statusOfPet(petId)).toBe(status);
    },
  );

  it('of concurrent updates the first decides: the same status is 200 with its response, another one is 409', async () => {
    const { id, petId } = await orderThatIs('approved');
    await app.database.query('BEGIN');
    await app.database.query('SELECT FROM store_orders WHERE id = $1 FOR UPDATE', [id]);
    const sent = [];
    for (const status of ['delivered', 'delivered', 'cancelled']) {
      sent.push(update(id, status));
      await until(async () => (await lockWaits(app.database)).length === sent.length);
    }
    await app.database.query('COMMIT');
    const [first, same, other] = await Promise.all(sent);
    expect(first).toMatchObject({ status: 200, json: { status: 'delivered' } });
    expect(same).toMatchObject({ status: 200, text: first!.text });
    expectError(other!, 409, 'invalid_transition');
    expect(await statusOfPet(petId)).toBe('sold');
  });

  it.each([
    ['no status', '{}'],
    ['null', '{"status":null}'],
    ['an unknown status', '{"status":"returned"}'],
    ['a status in capitals', '{"status":"Approved"}'],
    ['a list', '{"status":["approved"]}'],
    ['no object', '"approved"'],
    ['nothing', ''],
  ])('400 validation_failed for %s, and the order stays placed', async (_what, body) => {
    const { id } = await orderThatIs('placed');
    expectError(await app.send('PATCH', `${PATH}/${id}`, { body }), 400, 'validation_failed');
    expect((await app.get(`${PATH}/${id}`)).json.status).toBe('placed');
  });

  it.each([
    '0',
    '-1',
    '4611686018427387904',
    '9223372036854775808',
    '01',
    '+1',
    '1.0',
    '1e0',
    'x',
    '%31x',
    '%00',
  ])('404 order_not_found for GET and PATCH of the orderId %s', async (orderId) => {
    expectError(await app.get(`${PATH}/${orderId}`), 404, 'order_not_found');
    const body = { status: 'approved' };
    expectError(await app.send('PATCH', `${PATH}/${orderId}`, { body }), 404, 'order_not_found');
  });

  it('405 for methods other than GET, HEAD and PATCH', async () => {
    const { id } = await orderThatIs('placed');
    const rejected = await app.send('DELETE', `${PATH}/${id}`);
    expectError(rejected, 405, 'method_not_allowed');
    expect(rejected.headers['allow']).toBe('GET, HEAD, PATCH');
    expect(await app.send('HEAD', `${PATH}/${id}`)).toMatchObject({ status: 200, text: '' });
  });

  it('403 for GET without orders:read and for PATCH without orders:write', async () => {
    const { id } = await orderThatIs('placed');
    const account = { account: 'scoped' };
    const reader = await app.createKey({ ...account, scopes: ['orders:read'] });
    const writer = await app.createKey({ ...account, scopes: ['orders:write'] });
    expectError(await app.get(`${PATH}/${id}`, { key: writer.key }), 403, 'insufficient_scope');
    const options = { key: reader.key, body: { status: 'approved' } };
    expectError(await app.send('PATCH', `${PATH}/${id}`, options), 403, 'insufficient_scope');
  });
});
