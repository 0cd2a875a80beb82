import { MetricsServer } from '../../src/platform/metrics/metrics-server';
import { RequestMetrics } from '../../src/platform/metrics/request-metrics';
import { startApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { send } from '../support/http';
import { itWhen } from '../support/it-when';
import { metricsUrl } from '../support/metrics';

describe('the metrics port', () => {
  it('serves only /metrics: 404 for another path, 405 with Allow for another method', async () => {
    const app = await startApp({ metricsPort: 0 });
    for (const path of ['/', '/metrics/', '/v1/pets', '/livez'])
      expectError(await send(metricsUrl(app), 'GET', path, { isDocumented: false }), 404, 'route_not_found');
    const posted = await send(metricsUrl(app), 'POST', '/metrics');
    expectError(posted, 405, 'method_not_allowed');
    expect(posted.headers.allow).toBe('GET, HEAD');
    await app.close();
  });

  it('is separate from the port of the service, where /metrics is 404', async () => {
    const app = await startApp({ metricsPort: 0 });
    expectError(await app.get('/metrics'), 404, 'route_not_found');
    await app.close();
  });

  itWhen(process.platform === 'linux', 'needs 127.0.0.2')(
    'listens on METRICS_HOST, independent of HOST',
    async () => {
      const app = await startApp({ metricsPort: 0, metricsHost: '127.0.0.2' });
      const { port } = new URL(metricsUrl(app));
      expect((await send(`http://127.0.0.2:${port}`, 'GET', '/metrics')).status).toBe(200);
      await expect(send(`http://127.0.0.1:${port}`, 'GET', '/metrics')).rejects.toThrow('ECONNREFUSED');
      await app.close();
    },
  );

  it('is closed with the application', async () => {
    const app = await startApp({ metricsPort: 0 });
    const url = metricsUrl(app);
    expect((await send(url, 'GET', '/metrics')).status).toBe(200);
    await app.close();
    await expect(send(url, 'GET', '/metrics')).rejects.toThrow('ECONNREFUSED');
  });

  it('is closed, and nothing is recorded, without METRICS_PORT', async () => {
    const app = await startApp();
    expect(() => app.nest.get(MetricsServer)).toThrow('MetricsServer');
    expect(() => app.nest.get(RequestMetrics)).toThrow('RequestMetrics');
    expectError(await app.get('/metrics'), 404, 'route_not_found');
    await app.close();
  });
});
