import { startApp, type TestApp } from '../support/app';
import { connectAdmin } from '../support/database';
import { expectError } from '../support/expect-error';
import { until } from '../support/until';

describe('health', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const without = { key: undefined };

  it('/livez and /readyz return 200 {"status":"ok"} without a key', async () => {
    for (const path of ['/livez', '/readyz']) {
      expect(await app.get(path, without)).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    }
  });

  it('while the database is unavailable, /readyz and the API return 503 with Retry-After, and /livez 200; then all recover', async () => {
    const { database } = app;
    const name = new URL(database.url).pathname.slice(1);
    const admin = await connectAdmin();
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    for (const path of ['/readyz', '/v1/pets', '/v1/pets/1']) {
      const response = await app.get(path);
      expectError(response, 503, 'service_unavailable');
      expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    expectError(await app.post('/v1/pets', { name: 'Rex', categoryId: 1 }), 503, 'service_unavailable');
    expect((await app.get('/livez')).status).toBe(200);
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await until(async () => (await app.get('/readyz')).status === 200);
    expect((await app.get('/v1/pets')).status).toBe(200);
    await admin.end();
  });
});
