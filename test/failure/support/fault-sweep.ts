import type { DefinedScope } from '../../../src/platform/extension/define-scopes';
import { startApp, type TestApp } from '../../support/app';
import { createDatabase } from '../../support/database';
import { ADMIN_URL_VARIABLE } from '../../support/database-urls';
import type { HttpResponse, RequestOptions } from '../../support/http';
import { until } from '../../support/until';
import { type CuttingProxy, type Direction, startCuttingProxy } from './cutting-proxy';
import { expectUnavailable, isOutcomeUnknown } from './expect-unavailable';
import { query } from './own-server';
import { poolOf } from './pool';

export const DIRECTIONS: readonly Direction[] = ['to the server', 'from the server'];
/** More than a request and its response need; a sweep that reaches it would never end. */
export const MAX_BYTES = 10_000;

/** The service with few connections to PostgreSQL, through a proxy that can cut them. */
export interface CutApp {
  readonly app: TestApp;
  readonly proxy: CuttingProxy;
  /** The database without the proxy. */
  readonly directUrl: string;
  readonly key: string;
  close(): Promise<void>;
}

/**
 * @param databasePoolSize 1 for a single connection, which is not pipelined
 * @param scopes of the key; default: all
 */
export async function startCutApp(databasePoolSize = 1, scopes?: readonly DefinedScope[]): Promise<CutApp> {
  const proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
  const database = await createDatabase();
  const behindProxy = { ...database, url: proxy.through(database.url) };
  const app = await startApp({ databasePoolSize }, { database: behindProxy });
  return {
    app,
    proxy,
    directUrl: database.directUrl,
    key: await app.unlimitedKey(scopes),
    close: async () => {
      await app.close();
      await proxy.close();
    },
  };
}

/** The outcome of one request of a sweep. */
export interface Cut {
  readonly name: string;
  readonly response: HttpResponse;
}

interface SweepOptions {
  /** The status of every response other than 503; default 201. */
  readonly success?: number;
  /** Runs after each cut, when the proxy passes all bytes again. */
  readonly afterwards?: (cut: Cut) => Promise<void>;
}

/**
 * Sends requests in sequence, each on a new connection to PostgreSQL. The connection is cut `stride` bytes later than
 * the one before. The sweep ends when a request completes before its cut.
 *
 * @param ask sends the request with this name
 */
export async function sweep(
  cutApp: CutApp,
  stride: number,
  ask: (name: string) => Promise<HttpResponse>,
  { success = 201, afterwards = () => Promise.resolve() }: SweepOptions = {},
): Promise<Cut[]> {
  const { proxy } = cutApp;
  const cuts: Cut[] = [];
  for (const direction of DIRECTIONS) {
    for (let bytes = 0; ; bytes += stride) {
      if (bytes > MAX_BYTES) throw new Error('no request completed before its cut');
      const name = `cut after ${bytes} bytes ${direction}`;
      proxy.cutAfter(bytes, direction, (bytes / stride) % 2 === 1);
      const response = await ask(name);
      const wasCut = proxy.heal();
      expect([success, 503]).toContain(response.status);
      if (response.status === 503) expectUnavailable(response);
      cuts.push({ name, response });
      await afterwards({ name, response });
      if (!wasCut) break;
      await endConnections(cutApp);
    }
  }
  return cuts;
}

/** Ends every connection, so that the next request must open one. */
export async function endConnections({ app, proxy }: CutApp): Promise<void> {
  await until(() => {
    proxy.end();
    return poolOf(app).totalCount === 0;
  });
}

/** Sweeps POST /v1/pets: no animal exists twice, and an animal exists or not as its response says. */
export async function sweepPets(cutApp: CutApp, stride: number): Promise<Cut[]> {
  const { app, key, directUrl } = cutApp;
  const cuts = await sweep(cutApp, stride, (name) => app.post('/v1/pets', { name, categoryId: 1 }, { key }));
  const stored = (await query<{ name: string }>(directUrl, 'SELECT name FROM pets')).map(({ name }) => name);
  expect(new Set(stored).size).toBe(stored.length);
  for (const { name, response } of cuts) {
    if (response.status === 201) expect(stored).toContain(name);
    else if (!isOutcomeUnknown(response)) expect(stored).not.toContain(name);
  }
  return cuts;
}

/** Sweeps POST /v1/store/orders with an Idempotency-Key: a retry is 201 with the only order. */
export async function sweepOrders(cutApp: CutApp, stride: number): Promise<Cut[]> {
  const { app, key, directUrl } = cutApp;
  await query(
    directUrl,
    `INSERT INTO pets (name, category_id, status) SELECT 'ordered', 1, 'available' FROM generate_series(1, 20000)`,
  );
  const animals = (
    await query<{ id: string }>(directUrl, `SELECT id FROM pets WHERE name = 'ordered' ORDER BY id DESC`)
  ).map(({ id }) => id);
  const orders = new Map<string, RequestOptions>();
  const send = (name: string) => app.send('POST', '/v1/store/orders', orders.get(name));
  const cuts = await sweep(
    cutApp,
    stride,
    (name) => {
      const body = `{"petId":${animals.pop()}}`;
      orders.set(name, { key, body, headers: { 'idempotency-key': name.replaceAll(' ', '-') } });
      return send(name);
    },
    {
      afterwards: async ({ name, response }) => {
        let again = response;
        // The session of the lost connection may still hold the lock of the key.
        await until(async () => (again = await send(name)).status !== 409);
        expect(again.status).toBe(201);
        if (response.status === 201) expect(again.text).toBe(response.text);
      },
    },
  );
  const [counted] = await query(directUrl, ORDERS);
  expect(counted).toEqual({ orders: cuts.length, animals: cuts.length, reserved: cuts.length });
  return cuts;
}

const ORDERS = `
  SELECT count(*)::integer AS orders, count(DISTINCT pet_id)::integer AS animals,
         (SELECT count(*)::integer FROM pets WHERE status = 'pending') AS reserved
  FROM store_orders`;

/** Describes a sweep: the number of cuts by response. */
export function summary(cuts: readonly Cut[]): string {
  const count = (test: (response: HttpResponse) => boolean) =>
    cuts.filter(({ response }) => test(response)).length;
  return `${cuts.length} cuts: 2xx ${count(({ status }) => status < 300)}, 503 ${count(({ status }) => status === 503)}, of these of unknown outcome ${count(isOutcomeUnknown)}`;
}
