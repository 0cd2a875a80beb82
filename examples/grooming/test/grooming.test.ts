import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { brokenPromises, startTestStore, type TestStore } from 'animal-store/testing';
import { GroomingModule } from '../src/grooming.module';

const PATH = '/v1/grooming/appointments';
const START = '2027-03-01T09:00:00.000Z';
const LATER = '2027-03-02T09:00:00.000Z';

let store: TestStore;
let key: string;
before(async () => {
  store = await startTestStore({ extensions: [GroomingModule], settings: { groomingMaxBooked: 2 } });
  key = await store.key();
});
after(() => store.close());

// A minute later `@Throttle` admits five bookings again.
beforeEach(() => store.clock.advance({ seconds: 61 }));

function send(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  return store.fetch(path, { method, key, headers, ...(body && { body }) });
}

/** Adds an animal and returns its id. */
async function addPet(): Promise<number> {
  const { json } = await send('POST', '/v1/pets', { name: 'Rex', categoryId: 3 });
  return json.id;
}

function book(petId: number, headers = {}) {
  return send('POST', PATH, { petId, startsAt: START, treatment: 'Bath' }, headers);
}

async function sell(petId: number): Promise<void> {
  const { json: order } = await send('POST', '/v1/store/orders', { petId });
  for (const status of ['approved', 'delivered'])
    await send('PATCH', `/v1/store/orders/${order.id}`, { status });
}

test('keeps the promises of the store', async (context) => {
  const fresh = await startTestStore({ extensions: [GroomingModule] });
  context.after(() => fresh.close());
  assert.deepEqual(await brokenPromises(fresh), []);
});

test('books as many for an animal as GROOMING_MAX_BOOKED says, also concurrently', async () => {
  const petId = await addPet();
  const responses = await Promise.all([1, 2, 3, 4].map(() => book(petId)));
  assert.deepEqual(responses.map(({ status }) => status).sort(), [201, 201, 409, 409]);
  const rejected = responses.find(({ status }) => status === 409);
  assert.equal(rejected?.json.code, 'too_many_grooming_appointments');
});

test('writes an event for each booking', async () => {
  const { json: from } = await send('GET', '/v1/events?type=grooming.booked&limit=100');
  const { json: booked } = await book(await addPet());
  const { json: events } = await send('GET', '/v1/events?type=grooming.booked&limit=100');
  assert.equal(events.length, from.length + 1);
  assert.deepEqual(events.at(-1).data, booked);
});

test('books once for one Idempotency-Key', async () => {
  const petId = await addPet();
  const first = await book(petId, { 'idempotency-key': 'spring' });
  const retried = await book(petId, { 'idempotency-key': 'spring' });
  assert.equal(retried.headers['idempotent-replayed'], 'true');
  assert.equal(retried.text, first.text);
});

test('admits five bookings a minute for each account', async () => {
  const pets = await Promise.all([1, 2, 3, 4, 5, 6].map(addPet));
  const responses = await Promise.all(pets.map((petId) => book(petId)));
  assert.equal(responses.filter(({ status }) => status === 201).length, 5);
  assert.equal(responses.find(({ status }) => status === 429)?.json.code, 'rate_limit_exceeded');
  assert.equal((await send('GET', PATH)).status, 200);
  store.clock.advance({ seconds: 58 });
  assert.equal((await book(pets[0]!)).status, 429);
});

test('lists by animal and by status', async () => {
  const [petId, soldId] = [await addPet(), await addPet()];
  const { json: kept } = await book(petId);
  const { json: lost } = await book(soldId);
  await sell(soldId);
  const ids = async (query: string) =>
    (await send('GET', `${PATH}?${query}`)).json.map(({ id }: { id: number }) => id);
  assert.deepEqual(await ids(`petId=${petId}`), [kept.id]);
  assert.deepEqual(await ids(`petId=${soldId}&status=booked`), []);
  assert.deepEqual(await ids('status=cancelled&sort=-id&limit=1'), [lost.id]);
});

test('moves and removes only the version that the client has read', async () => {
  const { json, headers } = await book(await addPet());
  const tag = { 'if-match': headers['etag'] ?? '' };
  const changed = await send('PATCH', `${PATH}/${json.id}`, { startsAt: LATER }, tag);
  assert.deepEqual(changed.json, { ...json, startsAt: LATER });
  const stale = await send('PATCH', `${PATH}/${json.id}`, { startsAt: START }, tag);
  assert.equal(stale.json.code, 'precondition_failed');
  assert.equal((await send('DELETE', `${PATH}/${json.id}`, undefined, tag)).status, 412);
  assert.deepEqual((await send('GET', `${PATH}/${json.id}`)).json, changed.json);
});

test('keeps an animal with a booking until the booking is removed', async () => {
  const petId = await addPet();
  const { json } = await book(petId);
  assert.equal((await send('DELETE', `/v1/pets/${petId}`)).json.code, 'pet_has_grooming_appointment');
  assert.equal((await send('DELETE', `${PATH}/${json.id}`)).status, 204);
  assert.equal((await send('DELETE', `/v1/pets/${petId}`)).status, 204);
});

test('cancels the bookings of an animal that is sold', async () => {
  const petId = await addPet();
  const { json } = await book(petId);
  await sell(petId);
  assert.equal((await send('GET', `${PATH}/${json.id}`)).json.status, 'cancelled');
});

test('books again only below GROOMING_MAX_BOOKED', async () => {
  const petId = await addPet();
  const { json } = await book(petId);
  const change = (status: string) => send('PATCH', `${PATH}/${json.id}`, { status });
  assert.equal((await change('cancelled')).json.status, 'cancelled');
  assert.equal((await change('booked')).json.status, 'booked');
  await change('cancelled');
  await book(petId);
  await book(petId);
  assert.equal((await change('booked')).json.code, 'too_many_grooming_appointments');
});

test('changes appointments while their animal is sold or removed', async () => {
  for (const end of [sell, (petId: number) => send('DELETE', `/v1/pets/${petId}`)]) {
    const petId = await addPet();
    const { json } = await book(petId);
    await send('PATCH', `${PATH}/${json.id}`, { status: 'cancelled' });
    const changes = [1, 2, 3, 4].map(() => send('PATCH', `${PATH}/${json.id}`, { startsAt: LATER }));
    const [, ...responses] = await Promise.all([end(petId), ...changes]);
    // 200 or the 404 of the appointment, which the document has.
    assert.deepEqual(
      responses.filter(
        ({ status, json: body }) => status !== 200 && body.code !== 'grooming_appointment_not_found',
      ),
      [],
    );
  }
});

test('shows a key only the bookings of its account', async () => {
  const { json } = await book(await addPet());
  const other = await store.key({ account: 'other' });
  assert.equal((await store.fetch(`${PATH}/${json.id}`, { key: other })).status, 404);
  assert.deepEqual((await store.fetch(PATH, { key: other })).json, []);
});
