import type { Server } from 'node:http';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { send } from '../support/http';
import { isRefused } from '../support/is-refused';
import { itWhen } from '../support/it-when';
import { metricsUrl } from '../support/metrics';
import { withoutTable } from '../support/without-table';

describe('the metrics port', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ metricsPort: 0 });
  });
  afterAll(() => app.close());

  it('has 404 for another path, and the port of the service for /metrics', async () => {
    for (const path of ['/', '/metrics/', '/v1/pets', '/livez/'])
      expectError(await send(metricsUrl(app), 'GET', path, { isDocumented: false }), 404, 'route_not_found');
    expectError(await app.get('/metrics'), 404, 'route_not_found');
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
        err: expect.objectContaining({ cause: expect.objectContaining({ type: 'QueryFailedError' }) }),
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
