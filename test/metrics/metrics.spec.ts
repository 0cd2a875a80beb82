import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlanChoice } from '../../src/auth';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { isRefused } from '../support/is-refused';
import { itWhen } from '../support/it-when';
import { metricsUrl, scrape, valueOf } from '../support/metrics';
import { createPatientDatabase } from '../support/patience';
import { until } from '../support/until';
import { withoutTable } from '../support/without-table';

const DURATIONS = 'animal_store_http_request_duration_seconds_count';
const SUM = 'animal_store_http_request_duration_seconds_sum{route="/v1/pets",method="GET",status="200"}';
const TINY: PlanChoice = { plan: 'enterprise', perMinute: 2, perDay: 100 };
/** A number that no metric has by chance. */
const ID = '8070605040302010';

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  // Each scrape waits a second for the connections that a spec holds.
  const database = await createPatientDatabase();
  app = await startApp({ metricsPort: 0, rateLimitBanAfter: 2, databasePoolSize: 2 }, { database });
});

describe('metrics', () => {
  /** Returns the growth of each series while `work` runs. */
  async function growth(work: () => Promise<unknown>, ...series: string[]): Promise<number[]> {
    const before = await scrape(app);
    await work();
    // The client may receive a response shortly before the service records it.
    await sleep(20);
    const after = await scrape(app);
    return series.map((each) => (valueOf(after, each) ?? 0) - (valueOf(before, each) ?? 0));
  }

  it('GET /metrics returns the text format of Prometheus, with the process and internal errors of 0; HEAD has no body', async () => {
    const response = await scrape(app);
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(response.text).toMatch(/^# HELP animal_store_/m);
    // An alert must see the first one.
    expect(valueOf(response, 'animal_store_refusals_total{code="internal_error"}')).toBe(0);
    expect(valueOf(response, 'animal_store_nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0);
    expect(valueOf(response, 'animal_store_process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
    expect(response.text).toMatch(/^# TYPE animal_store_http_request_duration_seconds histogram$/m);
    expect(await send(metricsUrl(app), 'HEAD', '/metrics')).toMatchObject({ status: 200, text: '' });
    expect((await send(metricsUrl(app), 'GET', '/metrics?name=x')).status).toBe(200);
  });

  it('requests count by route pattern, method and status, and errors by code', async () => {
    const pet = await app.post('/v1/pets', aNewPet());
    const path = String(pet.headers['location']);
    const ask = async () => {
      await app.get('/v1/pets');
      await app.get('/v1/pets?limit=1');
      await app.get('/v1/pets?limit=0');
      await app.get('/v1/pets', { key: undefined });
      await app.get(`/v1/pets/${ID}`);
      await app.get(path, { headers: { 'if-none-match': String(pet.headers['etag']) } });
      await app.post('/v1/pets', aNewPet());
      await app.post('/v1/pets', '{');
      await app.send('PATCH', path, { body: { name: 'Mimi' } });
      await app.send('PATCH', path, { body: { name: 'Max' }, headers: { 'if-match': '"other"' } });
      await app.send('DELETE', path);
      await app.get('/livez');
      await app.get('/v1/nothing/here');
      await app.get('/%ff');
      await app.send('PROPFIND', '/v1/pets');
      await app.send('UNLOCK', '/v1/pets');
    };
    const wanted: Record<string, number> = {
      [`${DURATIONS}{route="/v1/pets",method="GET",status="200"}`]: 2,
      [`${DURATIONS}{route="/v1/pets/:petId",method="GET",status="404"}`]: 1,
      [`${DURATIONS}{route="/v1/pets/:petId",method="GET",status="304"}`]: 1,
      [`${DURATIONS}{route="/v1/pets",method="POST",status="201"}`]: 1,
      [`${DURATIONS}{route="/v1/pets/:petId",method="PATCH",status="200"}`]: 1,
      [`${DURATIONS}{route="/v1/pets/:petId",method="PATCH",status="412"}`]: 1,
      [`${DURATIONS}{route="/v1/pets/:petId",method="DELETE",status="204"}`]: 1,
      [`${DURATIONS}{route="/livez",method="GET",status="200"}`]: 1,
      // Without a route, and with an unusual method.
      [`${DURATIONS}{route="none",method="GET",status="404"}`]: 1,
      [`${DURATIONS}{route="none",method="GET",status="400"}`]: 1,
      [`${DURATIONS}{route="none",method="other",status="405"}`]: 2,
      'animal_store_refusals_total{code="validation_failed"}': 1,
      'animal_store_refusals_total{code="missing_api_key"}': 1,
      'animal_store_refusals_total{code="malformed_json"}': 1,
      'animal_store_refusals_total{code="precondition_failed"}': 1,
      'animal_store_refusals_total{code="internal_error"}': 0,
    };
    expect(await growth(ask, ...Object.keys(wanted))).toEqual(Object.values(wanted));
  });

  it('a ban counts once, when it begins', async () => {
    const { key } = await app.createKey({ choice: TINY });
    const grown = await growth(async () => {
      for (let sent = 0; sent < 3; sent += 1) await app.get('/v1/pets', { key });
      app.clock.advance({ seconds: 2 });
      for (let sent = 0; sent < 2; sent += 1) await app.get('/v1/pets', { key });
    }, 'animal_store_bans_total');
    expect(grown).toEqual([1]);
  });

  it('requests that wait for a lock show in the pool, and in their durations in seconds', async () => {
    const { database } = app;
    const SERIES = ['size', 'connections{state="in_use"}', 'connections{state="idle"}', 'waiting_requests'];
    let pool: number[] = [];
    // Keeps the scrape that has the state: the counters may be saved again immediately after it.
    const isPool = async (holds: (inUse: number, waiting: number) => boolean) => {
      const response = await scrape(app);
      pool = SERIES.map((series) => valueOf(response, `animal_store_database_pool_${series}`)!);
      return holds(pool[1]!, pool[3]!);
    };
    const before = valueOf(await scrape(app), SUM) ?? 0;
    const begin = performance.now();
    await database.query('BEGIN');
    await database.query('LOCK TABLE pets');
    // Different pages, because requests for the same page share a query.
    const requests = Array.from({ length: 5 }, (_, at) => app.get(`/v1/pets?limit=${at + 1}`));
    // The save of the rate-limit counters, every second, may wait too.
    await until(() => isPool((_inUse, waiting) => waiting >= 3));
    await database.query('SELECT pg_sleep(0.05)');
    await database.query('COMMIT');
    expect(pool).toEqual([2, 2, 0, expect.any(Number)]);
    await Promise.all(requests);
    const totalSeconds = (performance.now() - begin) / 1_000;
    await until(() => isPool((inUse) => inUse === 0));
    expect(pool).toEqual([2, 0, 2, 0]);
    const seconds = valueOf(await scrape(app), SUM)! - before;
    expect(seconds).toBeGreaterThan(requests.length * 0.05);
    expect(seconds).toBeLessThan(requests.length * totalSeconds);
  });

  it('are those that docs/operate.md describes; the dashboard shows each, and no alert has another one', async () => {
    const { text } = await scrape(app);
    const read = (file: string) => readFileSync(join(__dirname, '../..', file), 'utf8');
    const namesIn = (source: string) =>
      new Set(
        [...source.matchAll(/\banimal_store_\w*[a-z]/g)].map(([name]) =>
          name.replace(/_(bucket|count|sum)$/, ''),
        ),
      );
    const exposed = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!));
    const own = (names: Set<string>) =>
      new Set([...names].filter((name) => !/^animal_store_(nodejs|process)/.test(name)));
    const described = [...read('docs/operate.md').matchAll(/^- `(animal_store_\w+)`/gm)].map(
      ([, name]) => name!,
    );
    expect(own(new Set(described))).toEqual(own(exposed));
    const shown = namesIn(read('deploy/prometheus/grafana-dashboard.json'));
    expect(own(shown)).toEqual(own(exposed));
    const asked = namesIn(read('deploy/prometheus/alerts.yml'));
    expect(asked.size).toBeGreaterThan(5);
    expect([...shown, ...asked].filter((name) => !exposed.has(name))).toEqual([]);
  });
});

describe('the metrics port', () => {
  it('has 404 for another path, and the port of the service for /metrics', async () => {
    for (const path of ['/', '/metrics/', '/v1/pets', '/livez/', '/%ff'])
      expectError(await send(metricsUrl(app), 'GET', path, { isDocumented: false }), 404, 'route_not_found');
    expectError(await app.get('/metrics'), 404, 'route_not_found');
    const broken = { body: '{x', isDocumented: false };
    expectError(await send(metricsUrl(app), 'POST', '/v1/pets', broken), 404, 'route_not_found');
    expectError(await send(metricsUrl(app), 'POST', '/livez', broken), 405, 'method_not_allowed');
  });

  it('serves /livez and /readyz, with GET and HEAD', async () => {
    const port = metricsUrl(app);
    for (const path of ['/livez', '/readyz']) {
      expect(await send(port, 'GET', path)).toMatchObject({
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        json: { status: 'ok' },
      });
      expect(await send(port, 'HEAD', path)).toMatchObject({ status: 200, text: '' });
    }
  });

  it('has 503 at /readyz while the database rejects the check, with a warning in the log, and 200 at /livez', async () => {
    const [ready, live] = await withoutTable(app.database, 'migrations', () =>
      Promise.all(['/readyz', '/livez'].map((path) => send(metricsUrl(app), 'GET', path))),
    );
    expectError(ready!, 503, 'service_unavailable');
    expect(ready!.headers['retry-after']).toBe('1');
    expect(live!.status).toBe(200);
    expect(app.log.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        level: 40,
        err: expect.objectContaining({ stack: expect.stringContaining('QueryFailedError') }),
      }),
    );
    expect((await send(metricsUrl(app), 'GET', '/readyz')).status).toBe(200);
  });

  it('has 503 at /readyz if the port of the service is closed', async () => {
    const other = await startApp({ metricsPort: 0 }, { beside: app });
    const server: Server = other.nest.getHttpServer();
    server.close();
    expectError(await send(metricsUrl(other), 'GET', '/readyz'), 503, 'service_unavailable');
    await other.close();
  });

  itWhen(process.platform === 'linux', 'needs 127.0.0.2 and 127.0.0.3')(
    'listens on METRICS_HOST, independent of HOST, until the service stops',
    async () => {
      const other = await startApp({ metricsPort: 0, metricsHost: '127.0.0.2' }, { beside: app });
      const { port } = new URL(metricsUrl(other));
      expect((await send(`http://127.0.0.2:${port}`, 'GET', '/metrics')).status).toBe(200);
      // No other spec listens on this address.
      await expect(send(`http://127.0.0.3:${port}`, 'GET', '/metrics')).rejects.toThrow('ECONNREFUSED');
      await other.close();
      expect(await isRefused(`http://127.0.0.2:${port}`)).toBe(true);
    },
  );

  it('is closed without METRICS_PORT', async () => {
    const other = await startApp({}, { beside: app });
    expect(metricsUrl(other)).toBe('');
    await other.close();
  });
});
