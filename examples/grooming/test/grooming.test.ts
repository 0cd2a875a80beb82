import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { brokenPromises, startTestStore, type TestStore } from 'animal-store/testing';
import { grooming } from '../src/grooming.extension';

const START = '2027-03-01T09:00:00.000Z';
const APPOINTMENTS = '/v1/grooming/appointments';

let store: TestStore;
let key: string;
before(async () => {
  store = await startTestStore({ extensions: [grooming] });
  key = await store.key();
});
after(() => store.close());

test('keeps the promises of the store', async (context) => {
  const fresh = await startTestStore({ extensions: [grooming] });
  context.after(() => fresh.close());
  assert.deepEqual(await brokenPromises(fresh), []);
});

/** Adds an animal and returns its id. */
async function addPet(): Promise<number> {
  const { json } = await store.fetch('/v1/pets', {
    method: 'POST',
    key,
    body: { name: 'Rex', categoryId: 3 },
  });
  return json.id;
}

function book(petId: number, startsAt: string, headers = {}) {
  return store.fetch(APPOINTMENTS, { method: 'POST', key, body: { petId, startsAt }, headers });
}

/** A minute later `@Throttle` admits five bookings again. */
function waitForBookings(): void {
  store.clock.advance({ seconds: 61 });
}

test('books as many appointments for one time as there are places, also concurrently', async () => {
  waitForBookings();
  const petId = await addPet();
  const bookings = await Promise.all([1, 2, 3, 4].map(() => book(petId, START)));
  assert.deepEqual(bookings.map(({ status }) => status).sort(), [201, 201, 409, 409]);
  const rejected = bookings.find(({ status }) => status === 409);
  assert.equal(rejected?.json.code, 'no_place_free');
});

test('books once for one Idempotency-Key', async () => {
  waitForBookings();
  const petId = await addPet();
  const headers = { 'idempotency-key': 'spring' };
  const first = await book(petId, '2027-04-01T09:00:00.000Z', headers);
  const retried = await book(petId, '2027-04-01T09:00:00.000Z', headers);
  assert.equal(retried.headers['idempotent-replayed'], 'true');
  assert.equal(retried.text, first.text);
});

test('admits five bookings a minute for each account', async () => {
  waitForBookings();
  const petId = await addPet();
  const times = [1, 2, 3, 4, 5, 6].map((day) => `2027-05-0${day}T09:00:00.000Z`);
  const bookings = await Promise.all(times.map((time) => book(petId, time)));
  assert.equal(bookings.filter(({ status }) => status === 201).length, 5);
  const limited = bookings.find(({ status }) => status === 429);
  assert.equal(limited?.json.code, 'rate_limit_exceeded');
  assert.equal((await store.fetch(APPOINTMENTS, { key })).status, 200);
});

test('cancels the appointments of an animal that is sold', async () => {
  waitForBookings();
  const petId = await addPet();
  const { json: appointment } = await book(petId, '2027-06-01T09:00:00.000Z');
  const order = await store.fetch('/v1/store/orders', { method: 'POST', key, body: { petId } });
  for (const status of ['approved', 'delivered']) {
    await store.fetch(`/v1/store/orders/${order.json.id}`, { method: 'PATCH', key, body: { status } });
  }
  const { json } = await store.fetch(`${APPOINTMENTS}/${appointment.id}`, { key });
  assert.equal(json.status, 'cancelled');
});

test('takes the number of places from GROOMING_PLACES', async (context) => {
  const small = await startTestStore({ extensions: [grooming], settings: { groomingPlaces: 1 } });
  context.after(() => small.close());
  const own = await small.key();
  const post = (path: string, body: object) => small.fetch(path, { method: 'POST', key: own, body });
  const { json: pet } = await post('/v1/pets', { name: 'Rex', categoryId: 3 });
  const statuses = [];
  for (const _place of [1, 2]) {
    statuses.push((await post(APPOINTMENTS, { petId: pet.id, startsAt: START })).status);
  }
  assert.deepEqual(statuses, [201, 409]);
});
