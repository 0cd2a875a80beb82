import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MetricsServer } from '../../src/platform/metrics/metrics-server';
import { RequestMetrics } from '../../src/platform/metrics/request-metrics';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { send } from '../support/http';
import { isRefused } from '../support/is-refused';
import { itWhen } from '../support/it-when';
import { metricsUrl, scrape } from '../support/metrics';

describe('the metrics port', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ metricsPort: 0 });
  });
  afterAll(() => app.close());

  it('serves only /metrics: 404 for another path, 405 with Allow for another method', async () => {
    for (const path of ['/', '/metrics/', '/v1/pets', '/livez'])
      expectError(await send(metricsUrl(app), 'GET', path, { isDocumented: false }), 404, 'route_not_found');
    const posted = await send(metricsUrl(app), 'POST', '/metrics');
    expectError(posted, 405, 'method_not_allowed');
    expect(posted.headers.allow).toBe('GET, HEAD');
  });

  it('is separate from the port of the service, where /metrics is 404', async () => {
    expectError(await app.get('/metrics'), 404, 'route_not_found');
  });

  itWhen(process.platform === 'linux', 'needs 127.0.0.2')(
    'listens on METRICS_HOST, independent of HOST',
    async () => {
      const other = await startApp({ metricsPort: 0, metricsHost: '127.0.0.2' }, { beside: app });
      const { port } = new URL(metricsUrl(other));
      expect((await send(`http://127.0.0.2:${port}`, 'GET', '/metrics')).status).toBe(200);
      await expect(send(`http://127.0.0.1:${port}`, 'GET', '/metrics')).rejects.toThrow('ECONNREFUSED');
      await other.close();
    },
  );

  it('is closed with the application', async () => {
    const other = await startApp({ metricsPort: 0 }, { beside: app });
    const url = metricsUrl(other);
    expect((await send(url, 'GET', '/metrics')).status).toBe(200);
    await other.close();
    expect(await isRefused(url)).toBe(true);
  });

  it('is closed, and nothing is recorded, without METRICS_PORT', async () => {
    const other = await startApp({}, { beside: app });
    expect(() => other.nest.get(MetricsServer)).toThrow('MetricsServer');
    expect(() => other.nest.get(RequestMetrics)).toThrow('RequestMetrics');
    expectError(await other.get('/metrics'), 404, 'route_not_found');
    await other.close();
  });

  it('docs/operations.md describes every metric; the dashboard queries only metrics that exist', async () => {
    const { text } = await scrape(app);
    const exposed = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!);
    const own = exposed.filter((name) => !/^animal_store_(nodejs|process)_/.test(name));
    const page = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `(animal_store_(?!nodejs|process)\w+)`/gm)].map(
      ([, name]) => name,
    );
    expect(new Set(documented)).toEqual(new Set(own));
    const dashboard = readFileSync(join(__dirname, '../../docs/operations/grafana-dashboard.json'), 'utf8');
    const asked = [...dashboard.matchAll(/animal_store_\w+/g)].map(([name]) =>
      name.replace(/_(bucket|count)$/, ''),
    );
    expect(asked.length).toBeGreaterThan(8);
    expect(asked.filter((name) => !exposed.includes(name))).toEqual([]);
  });
});
