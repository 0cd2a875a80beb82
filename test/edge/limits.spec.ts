import { startApp, type TestApp } from '../support/app';
import { scrape } from '../support/metrics';
import { holdTimers } from '../support/timers';
import { until } from '../support/until';
import { RawConnection } from './support/raw';

const ONE_REFUSED = 'animal_store_http_connections_shed_total{outcome="refused"} 1\n';
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
    /** Complete the responses of `/held`. */
    let held: (() => void)[];
    beforeEach(async () => {
      held = [];
      const hold = () => new Promise((resolve) => held.push(() => resolve('{}')));
      app = await startApp(
        { maxConnections: 3, metricsPort: 0 },
        {
          beforeListen: (nest) =>
            nest
              .getHttpAdapter()
              .getInstance()
              .get('/held', { config: { public: true } }, hold),
        },
      );
    });
    afterEach(() => app.close());

    const isEnded = (raw: RawConnection) =>
      raw.end().then(({ state, rest }) => state !== 'open' && rest === '');

    it('closes and counts a further connection, closes the idle ones, serves the next one, and logs one line', async () => {
      const idle = [await connected(app), await connected(app), await connected(app)];
      const further = await RawConnection.open(app.url);
      for (const raw of [further, ...idle]) expect(await isEnded(raw)).toBe(true);
      const next = await connected(app);
      expect(app.log.filter((line) => line.includes('MAX_CONNECTIONS is reached'))).toHaveLength(1);
      expect((await scrape(app)).text).toContain(ONE_REFUSED);
      for (const raw of [...idle, further, next]) raw.destroy();
    });

    it('closes connections after their last response during an upload, and serves the next one', async () => {
      holdTimers({ timeouts: true });
      const half = await Promise.all([1, 2, 3].map(() => RawConnection.open(app.url)));
      for (const raw of half) {
        raw.write('POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{');
        expect(await raw.response()).toMatchObject({ status: 401 });
      }
      const further = await RawConnection.open(app.url);
      expect(await isEnded(further)).toBe(true);
      jest.useRealTimers();
      const next = await connected(app);
      for (const raw of [...half, further, next]) raw.destroy();
    });

    it('closes a new connection if every other connection has a pending request; the metrics count it', async () => {
      const busy = await Promise.all([1, 2, 3].map(() => RawConnection.open(app.url)));
      for (const raw of busy) raw.write(LIVEZ.replace('/livez', '/held'));
      await until(() => held.length === busy.length);
      const further = await RawConnection.open(app.url);
      expect(await isEnded(further)).toBe(true);
      const { text } = await scrape(app);
      expect(text).toMatch(/^animal_store_http_connections [0-3]$/m);
      expect(text).toContain(ONE_REFUSED);
      for (const finish of held) finish();
      for (const raw of busy) {
        expect(await raw.response()).toMatchObject({ status: 200 });
        raw.destroy();
      }
      further.destroy();
    });
  });

  it('HEADERS_TIMEOUT_MS: 408 for half a head, even with a long REQUEST_TIMEOUT_MS; KEEP_ALIVE_TIMEOUT_MS: an idle connection is closed without a response', async () => {
    const times = { headersTimeoutMs: 400, keepAliveTimeoutMs: 50, requestTimeoutMs: 600_000 };
    const app = await startApp(times);
    const half = await RawConnection.open(app.url);
    half.write('GET /livez HTTP/1.1\r\n');
    const idle = await connected(app);
    expect(await idle.end()).toEqual({ state: 'closed', rest: '' });
    expect(await half.response()).toMatchObject({ status: 408 });
    for (const raw of [half, idle]) raw.destroy();
    await app.close();
  });
});
