import { startApp, type TestApp } from '../support/app';
import { scrape } from '../support/metrics';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { RawConnection } from './support/raw';

const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

/** Opens a connection and gets a response on it. */
async function connected(app: TestApp): Promise<RawConnection> {
  const raw = await RawConnection.open(app.url);
  raw.write(LIVEZ);
  expect(await raw.response()).toMatchObject({ status: 200 });
  return raw;
}

describe('limits of times and connections', () => {
  describe('MAX_CONNECTIONS', () => {
    let app: TestApp;
    beforeAll(async () => {
      holdTimers();
      app = await startApp({ maxConnections: 3, metricsPort: 0, databasePoolSize: 1 });
    });
    afterEach(() => jest.restoreAllMocks());
    afterAll(async () => {
      await app.close();
      jest.useRealTimers();
    });

    const isEnded = (raw: RawConnection) =>
      raw.end().then(({ state, rest }) => state !== 'open' && rest === '');

    it('closes the connection that has been idle longest for each new connection, and logs one line', async () => {
      const [first, second, third] = [await connected(app), await connected(app), await connected(app)];
      first.write(LIVEZ);
      expect(await first.response()).toMatchObject({ status: 200 });
      const fourth = await connected(app);
      expect(await isEnded(second)).toBe(true);
      const fifth = await connected(app);
      expect(await isEnded(third)).toBe(true);
      for (const raw of [first, fourth, fifth]) {
        raw.write(LIVEZ);
        expect(await raw.response()).toMatchObject({ status: 200 });
      }
      expect(app.log.filter((line) => line.includes('MAX_CONNECTIONS is reached'))).toHaveLength(1);
      for (const raw of [first, second, third, fourth, fifth]) raw.destroy();
    });

    it('closes a new connection if every other connection has a pending request', async () => {
      await app.database.query('BEGIN');
      await app.database.query('LOCK TABLE pets');
      const waiting = await Promise.all([1, 2, 3].map(() => RawConnection.open(app.url)));
      for (const raw of waiting)
        raw.write(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n\r\n`);
      const { connections } = app.nest.getHttpAdapter().getInstance();
      await until(() => connections.idle.size === 0 && connections.size === 3);
      const further = await RawConnection.open(app.url);
      expect(await isEnded(further)).toBe(true);
      await app.database.query('COMMIT');
      for (const raw of waiting) {
        expect(await raw.response()).toMatchObject({ status: 200 });
        raw.destroy();
      }
      further.destroy();
    });

    it('replaces the connection that has completed no response for REQUEST_TIMEOUT_MS, even if it became busy last', async () => {
      const held: (() => void)[] = [];
      const other = await startApp(
        { maxConnections: 2, requestTimeoutMs: 200 },
        {
          beside: app,
          beforeListen: (nest) => {
            const hold = () => new Promise((resolve) => held.push(() => resolve('{}')));
            nest
              .getHttpAdapter()
              .getInstance()
              .get('/held', { config: { public: true } }, hold);
          },
        },
      );
      const ask = async (times: number) => {
        const before = held.length;
        const raw = await RawConnection.open(other.url);
        raw.write(LIVEZ.replace('/livez', '/held').repeat(times));
        await until(() => held.length === before + times);
        return raw;
      };
      const active = await ask(2);
      const stuck = await ask(1);
      jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 201);
      held[0]!();
      const first = await active.response();
      const next = await RawConnection.open(other.url);
      next.write(LIVEZ);
      const response = await next.response();
      for (const finish of held) finish();
      expect([first, response, await active.response()]).toEqual(
        Array(3).fill(expect.objectContaining({ status: 200 })),
      );
      expect(await isEnded(stuck)).toBe(true);
      for (const raw of [active, stuck, next]) raw.destroy();
      await other.close();
    });

    it('logs a second line when the limit is reached again after a pause', async () => {
      const lines = () => app.log.filter((line) => line.includes('MAX_CONNECTIONS is reached')).length;
      const { connections } = app.nest.getHttpAdapter().getInstance();
      const before = lines();
      await until(() => connections.size === 0);
      pass({ seconds: 1 });
      const raws = [];
      for (let at = 0; at < 4; at += 1) raws.push(await connected(app));
      expect(lines()).toBe(before + 1);
      for (const raw of raws) raw.destroy();
    });

    it('counts open, closed and rejected connections in the metrics', async () => {
      const { text } = await scrape(app);
      expect(text).toMatch(/^animal_store_http_connections [0-3]$/m);
      expect(text).toMatch(/^animal_store_http_connections_shed_total\{outcome="closed"\} [2-9]$/m);
      expect(text).toContain('animal_store_http_connections_shed_total{outcome="refused"} 1\n');
    });
  });

  describe('times', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await startApp({ headersTimeoutMs: 400, keepAliveTimeoutMs: 50, requestTimeoutMs: 600_000 });
    });
    afterAll(() => app.close());

    it('HEADERS_TIMEOUT_MS: 408 request_timeout for half a head, even with a long REQUEST_TIMEOUT_MS', async () => {
      const raw = await RawConnection.open(app.url);
      raw.write('GET /livez HTTP/1.1\r\n');
      expect(await raw.response()).toMatchObject({ status: 408 });
      raw.destroy();
    });

    it('KEEP_ALIVE_TIMEOUT_MS: an idle connection is closed without a response', async () => {
      const raw = await connected(app);
      expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
      raw.destroy();
    });
  });
});
