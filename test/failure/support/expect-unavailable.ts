import { randomUUID } from 'node:crypto';
import type { TestApp } from '../../support/app';
import { expectError } from '../../support/expect-error';
import { aNewPet } from '../../support/factories';
import type { HttpResponse } from '../../support/http';

/** Expects 503 with the Error body, `Retry-After`, and the headers of every response under /v1. */
export function expectUnavailable(response: HttpResponse): void {
  expectError(response, 503, 'service_unavailable');
  expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(response.headers).toMatchObject({
    'x-request-id': expect.stringMatching(/\S/),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
    'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
    'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
  });
}

type PetIds = readonly [orderedId: number, changedId: number];
const without = { key: undefined };

/** Creates two animals: a change of one that waits for its order could time out. */
export async function createTwo(app: TestApp): Promise<PetIds> {
  const create = async (): Promise<number> => (await app.post('/v1/pets', aNewPet())).json.id;
  return [await create(), await create()];
}

/** Sends each kind of operation: more concurrent requests than the pool has connections. */
const askAll = (app: TestApp, [orderedId, changedId]: PetIds): Promise<HttpResponse[]> =>
  Promise.all([
    app.get('/v1/pets'),
    app.get(`/v1/pets/${orderedId}`),
    app.get('/v1/pets?status=sold&limit=1'),
    app.get('/v1/store/orders'),
    app.post('/v1/pets', aNewPet()),
    app.post('/v1/pets', aNewPet(), { headers: { 'idempotency-key': randomUUID() } }),
    app.send('PATCH', `/v1/pets/${changedId}`, { body: { name: 'changed' } }),
    app.post('/v1/store/orders', { petId: orderedId }),
  ]);

/** Expects 503 for every operation and /readyz, and 200 for /livez. */
export async function expectOutage(app: TestApp, petIds: PetIds): Promise<void> {
  for (const response of await askAll(app, petIds)) expectUnavailable(response);
  expectError(await app.get('/readyz', without), 503, 'service_unavailable');
  expect((await app.get('/livez', without)).status).toBe(200);
}

/** Expects success of every operation, and so that none of an outage has had an effect. */
export async function expectRecovery(app: TestApp, petIds: PetIds): Promise<void> {
  expect((await app.get('/readyz', without)).status).toBe(200);
  const statuses = (await askAll(app, petIds)).map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200, 200, 201, 201, 200, 201]);
}

/** True for a 503 that says that the request may or may not have taken effect. */
export function isOutcomeUnknown({ status, text }: Pick<HttpResponse, 'status' | 'text'>): boolean {
  return status === 503 && text.includes('may or may not have taken effect');
}

/** Expects `success` or 503, and the number of animals that the response tells. */
export function expectAsStored(response: HttpResponse, count: number, success = 201): void {
  expect([success, 503]).toContain(response.status);
  if (response.status === 503) expectUnavailable(response);
  if (isOutcomeUnknown(response)) expect(count).toBeLessThanOrEqual(1);
  else expect(count).toBe(response.status === 201 ? 1 : 0);
}
