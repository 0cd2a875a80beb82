import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlanChoice } from '../../src/accounts';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import { metricsUrl, scrape, valueOf } from '../support/metrics';
import { until } from '../support/until';

const DURATIONS = 'animal_store_http_request_duration_seconds_count';
const TINY: PlanChoice = { plan: 'enterprise', perMinute: 2, perDay: 100 };
/** A number that no metric has by chance. */
const ID = '8070605040302010';

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ metricsPort: 0, rateLimitBanAfter: 1, databasePoolSize: 2 });
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

  it('request durations count by route pattern, method and status, a 304 and a 412 included', async () => {
    const pet = await app.post('/v1/pets', aNewPet());
    const path = String(pet.headers['location']);
    const series = (route: string, method: string, status: number) =>
      `${DURATIONS}{route="${route}",method="${method}",status="${status}"}`;
    const grown = await growth(
      async () => {
        await app.get('/v1/pets');
        await app.get('/v1/pets?limit=1');
        await app.get(`/v1/pets/${ID}`);
        await app.get(path, { headers: { 'if-none-match': String(pet.headers['etag']) } });
        await app.post('/v1/pets', aNewPet());
        await app.send('PATCH', path, { body: { name: 'Mimi' } });
        await app.send('PATCH', path, { body: { name: 'Mimi' }, headers: { 'if-match': '"other"' } });
        await app.send('DELETE', path);
        await app.get('/livez');
      },
      series('/v1/pets', 'GET', 200),
      series('/v1/pets/:petId', 'GET', 404),
      series('/v1/pets/:petId', 'GET', 304),
      series('/v1/pets', 'POST', 201),
      series('/v1/pets/:petId', 'PATCH', 200),
      series('/v1/pets/:petId', 'PATCH', 412),
      series('/v1/pets/:petId', 'DELETE', 204),
      series('/livez', 'GET', 200),
      'animal_store_refusals_total{code="precondition_failed"}',
    );
    expect(grown).toEqual([2, 1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it('a path without a route counts as route none, and an unusual method as method other', async () => {
    const grown = await growth(
      async () => {
        await app.get('/v1/nothing/here');
        await app.get('/%ff');
        await app.send('PROPFIND', '/v1/pets');
        await app.send('UNLOCK', '/v1/pets');
      },
      `${DURATIONS}{route="none",method="GET",status="404"}`,
      `${DURATIONS}{route="none",method="GET",status="400"}`,
      `${DURATIONS}{route="none",method="other",status="405"}`,
    );
    expect(grown).toEqual([1, 1, 2]);
  });

  it('request durations are measured in seconds', async () => {
    const { database } = app;
    await database.query('BEGIN');
    await database.query('LOCK TABLE pets');
    const series = '{route="/v1/pets",method="POST",status="201"}';
    const begin = performance.now();
    const [seconds = 0] = await growth(async () => {
      const posted = app.post('/v1/pets', aNewPet());
      await until(async () => (await lockWaits(database)).length > 0);
      await database.query('SELECT pg_sleep(0.05)');
      await database.query('COMMIT');
      await posted;
    }, `animal_store_http_request_duration_seconds_sum${series}`);
    expect(seconds).toBeGreaterThan(0.05);
    expect(seconds).toBeLessThan((performance.now() - begin) / 1_000);
  });

  it('errors count by their code', async () => {
    const grown = await growth(
      async () => {
        await app.get('/v1/pets', { key: undefined });
        await app.get('/v1/pets', { key: 'wrong' });
        await app.get('/v1/pets?limit=0');
        await app.post('/v1/pets', '{');
        await app.get('/v1/pets');
      },
      ...['missing_api_key', 'invalid_api_key', 'validation_failed', 'malformed_json', 'internal_error'].map(
        (code) => `animal_store_refusals_total{code="${code}"}`,
      ),
    );
    expect(grown).toEqual([1, 1, 1, 1, 0]);
  });

  it('decisions count by plan and verdict, and a ban once, when it begins; getKey adds none', async () => {
    const { key } = await app.createKey({ choice: TINY });
    const decision = (plan: string, verdict: string) =>
      `animal_store_rate_limit_decisions_total{plan="${plan}",verdict="${verdict}"}`;
    const grown = await growth(
      async () => {
        for (let sent = 0; sent < 3; sent += 1) await app.get('/v1/pets', { key });
        app.clock.advance({ seconds: 2 });
        await app.get('/v1/pets', { key });
        await app.get('/v1/pets', { key });
        await app.get('/v1/pets', { key: undefined });
        await app.get('/livez', { key: undefined });
        await app.get('/v1/key', { key });
        await app.get('/v1/pets');
      },
      decision('enterprise', 'admitted'),
      decision('enterprise', 'limited'),
      decision('enterprise', 'banned'),
      decision('anonymous', 'admitted'),
      decision('business', 'admitted'),
      'animal_store_bans_total',
    );
    expect(grown).toEqual([2, 1, 2, 1, 1, 1]);
  });

  it('the pool shows its size, connections in use, idle connections and waiting requests', async () => {
    const { database } = app;
    const pool = async () => {
      const response = await scrape(app);
      return {
        size: valueOf(response, 'animal_store_database_pool_size'),
        inUse: valueOf(response, 'animal_store_database_pool_connections{state="in_use"}'),
        idle: valueOf(response, 'animal_store_database_pool_connections{state="idle"}'),
        waiting: valueOf(response, 'animal_store_database_pool_waiting_requests'),
      };
    };
    type Pool = Awaited<ReturnType<typeof pool>>;
    // Returns the scrape that has the state: the counters may be saved again immediately after it.
    async function poolWhen(holds: (now: Pool) => boolean): Promise<Pool> {
      let now = await pool();
      await until(async () => holds(now) || holds((now = await pool())));
      return now;
    }
    await database.query('BEGIN');
    await database.query('LOCK TABLE pets');
    // Different pages, because requests for the same page share a query.
    const requests = Array.from({ length: 5 }, (_, at) => app.get(`/v1/pets?limit=${at + 1}`));
    // The save of the rate-limit counters, every second, may wait too.
    const busy = await poolWhen(({ waiting = 0 }) => waiting >= 3);
    await database.query('COMMIT');
    await Promise.all(requests);
    expect(busy).toEqual({ size: 2, inUse: 2, idle: 0, waiting: expect.any(Number) });
    const idle = await poolWhen(({ inUse }) => inUse === 0);
    expect(idle).toEqual({ size: 2, inUse: 0, idle: 2, waiting: 0 });
  });

  it('calls of a deprecated operation count by account and route; other operations of its path and anonymous calls do not', async () => {
    const { key } = await app.createKey({ account: 'old client' });
    const grown = await growth(async () => {
      await app.get(`/v1/pets/${ID}`, { key });
      await app.send('HEAD', `/v1/pets/${ID}`, { key });
      await app.get('/v1/pets', { key });
      await app.send('PATCH', `/v1/pets/${ID}`, { key, body: { name: 'Mimi' } });
      await app.send('DELETE', `/v1/pets/${ID}`, { key });
      await app.send('PUT', `/v1/pets/${ID}`, { key });
      await app.get(`/v1/pets/${ID}`, { key: undefined });
    }, 'animal_store_deprecated_calls_total{account="old client",route="/v1/pets/:petId"}');
    expect(grown).toEqual([2]);
    expect((await scrape(app)).text).not.toMatch(/deprecated_calls_total\{[^}]*route="\/v1\/pets"/);
  });

  it('no metric contains a key, its id, an id of an animal, or other values that a client sent', async () => {
    const { key, id } = await app.createKey();
    await app.get(`/v1/pets/${ID}`, { key, headers: { 'x-request-id': 'chosen', 'user-agent': 'chosen' } });
    await app.get(`/v1/pets?cursor=chosen&key=${key}`, { key });
    await app.get(`/v1/${key}/chosen`);
    await app.post('/v1/pets', aNewPet({ name: 'chosen' }), { key });
    await sleep(20);
    const { text } = await scrape(app);
    for (const secret of [key, key.slice(-10), id, ID, 'chosen']) expect(text).not.toContain(secret);
  });

  it('docs/operate.md describes every metric; the dashboard queries only metrics that exist', async () => {
    const { text } = await scrape(app);
    const exposed = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!);
    const own = exposed.filter((name) => !/^animal_store_(nodejs|process)_/.test(name));
    const page = readFileSync(join(__dirname, '../../docs/operate.md'), 'utf8');
    const documented = [...page.matchAll(/^- `(animal_store_(?!nodejs|process)\w+)`/gm)].map(
      ([, name]) => name,
    );
    expect(new Set(documented)).toEqual(new Set(own));
    const dashboard = readFileSync(join(__dirname, '../../deploy/prometheus/grafana-dashboard.json'), 'utf8');
    const asked = [...dashboard.matchAll(/animal_store_\w+/g)].map(([name]) =>
      name.replace(/_(bucket|count)$/, ''),
    );
    expect(asked.length).toBeGreaterThan(8);
    expect(asked.filter((name) => !exposed.includes(name))).toEqual([]);
  });
});
