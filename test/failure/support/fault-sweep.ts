import type { DefinedScope } from '../../../src/platform/extension/define-scopes';
import { startApp, type TestApp } from '../../support/app';
import { createDatabase } from '../../support/database';
import { ADMIN_URL_VARIABLE } from '../../support/database-urls';
import type { HttpResponse } from '../../support/http';
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
