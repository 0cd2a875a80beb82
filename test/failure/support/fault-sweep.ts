import { startApp, type TestApp } from '../../support/app';
import { ADMIN_URL_VARIABLE, createDatabase } from '../../support/database';
import type { Answer, RequestOptions } from '../../support/http';
import { until } from '../../support/until';
import { type CuttingProxy, type Direction, startCuttingProxy } from './cutting-proxy';
import { expectUnavailable, isOutcomeUnknown } from './expect-unavailable';
import { query } from './own-server';
import { poolOf } from './pool';

const DIRECTIONS: readonly Direction[] = ['to the server', 'from the server'];
/** More than one request and its answer take; a sweep that comes so far never ended. */
const MOST_BYTES = 10_000;

/** The service on one connection to PostgreSQL, which a proxy can cut. */
export interface CutApp {
  readonly app: TestApp;
  readonly proxy: CuttingProxy;
  /** The database, past the proxy. */
  readonly directUrl: string;
  readonly key: string;
  close(): Promise<void>;
}

export async function startCutApp(): Promise<CutApp> {
  const proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
  const database = await createDatabase();
  const behindProxy = { ...database, url: proxy.through(database.url) };
  const app = await startApp({ databasePoolSize: 1 }, { database: behindProxy });
  const { key } = await app.createKey({
    choice: { plan: 'enterprise', perMinute: 1_000_000, perDay: 1_000_000 },
  });
  return {
    app,
    proxy,
    directUrl: database.directUrl,
    key,
    close: async () => {
      await app.close();
      await proxy.close();
    },
  };
}

/** What became of one request whose connection to PostgreSQL was to be cut. */
export interface Cut {
  readonly name: string;
  readonly answer: Answer;
}

/**
 * Sends one request after the other, each on a new connection to PostgreSQL that is cut one stride further than the
 * last, until one is answered before its cut.
 *
 * @param ask sends the request of this name
 * @param afterwards runs past each cut, when the connection holds again
 */
export async function sweep(
  { app, proxy }: CutApp,
  stride: number,
  ask: (name: string) => Promise<Answer>,
  afterwards: (cut: Cut) => Promise<void> = () => Promise.resolve(),
): Promise<Cut[]> {
  const cuts: Cut[] = [];
  for (const direction of DIRECTIONS) {
    for (let bytes = 0; ; bytes += stride) {
      if (bytes > MOST_BYTES) throw new Error('no request was answered before its cut');
      const name = `cut after ${bytes} bytes ${direction}`;
      proxy.cutAfter(bytes, direction, (bytes / stride) % 2 === 1);
      const answer = await ask(name);
      const wasCut = proxy.heal();
      expect([201, 503]).toContain(answer.status);
      if (answer.status === 503) expectUnavailable(answer);
      cuts.push({ name, answer });
      await afterwards({ name, answer });
      if (!wasCut) break;
      // The next one begins with a connection of its own, too.
      await until(() => {
        proxy.end();
        return poolOf(app).totalCount === 0;
      });
    }
  }
  return cuts;
}

/** POST /v1/pets, cut after every `stride`-th byte: an animal is there once or not at all, as its answer says. */
export async function sweepPets(cutApp: CutApp, stride: number): Promise<Cut[]> {
  const { app, key, directUrl } = cutApp;
  const cuts = await sweep(cutApp, stride, (name) => app.post('/v1/pets', { name, categoryId: 1 }, { key }));
  const stored = (await query<{ name: string }>(directUrl, 'SELECT name FROM pets')).map(({ name }) => name);
  expect(new Set(stored).size).toBe(stored.length);
  for (const { name, answer } of cuts) {
    if (answer.status === 201) expect(stored).toContain(name);
    else if (!isOutcomeUnknown(answer)) expect(stored).not.toContain(name);
  }
  return cuts;
}

/** POST /v1/store/orders with an Idempotency-Key, the same; sent again it is answered with the one order there is. */
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
    async ({ name, answer }) => {
      let again = answer;
      // The session that was cut may not have noticed yet.
      await until(async () => (again = await send(name)).status !== 409);
      expect(again.status).toBe(201);
      if (answer.status === 201) expect(again.text).toBe(answer.text);
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

/** How many cuts were answered in which way. */
export function summary(cuts: readonly Cut[]): string {
  const count = (test: (answer: Answer) => boolean) => cuts.filter(({ answer }) => test(answer)).length;
  return `${cuts.length} cuts: 201 ${count(({ status }) => status === 201)}, 503 ${count(({ status }) => status === 503)}, of these of unknown outcome ${count(isOutcomeUnknown)}`;
}
