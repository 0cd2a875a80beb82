import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { clientSpan, named, spansOf, treeOf } from '../support/traces';
import { startApp, type TestApp } from '../support/app';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';

describeWithRedis('the trace of a request that Redis counts', () => {
  let redis: RedisServer;
  let app: TestApp;
  beforeAll(async () => {
    redis = await startRedis();
    app = await startApp({ redisUrl: [redis.url()], redisTimeoutMs: 5_000 });
    await app.get('/v1/pets');
  });
  afterAll(async () => {
    await app.close();
    await redis.stop();
  });

  it('has the call of the script below the checks, without the key id and the account', async () => {
    const client = clientSpan();
    await app.get('/v1/pets/1', { headers: client.headers });
    const spans = await spansOf(client);
    expect(treeOf(spans, client)).toContain('request checks > EVALSHA take');
    expect(named(spans, 'EVALSHA take')).toMatchObject({
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'db.system.name': 'redis',
        'db.operation.name': 'EVALSHA',
        'db.query.summary': 'EVALSHA take',
      },
    });
  });

  it('has a failed call if Redis is full, and the request does not fail', async () => {
    const client = clientSpan();
    await redis.command('SCRIPT', 'FLUSH');
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    expect((await app.get('/v1/pets/1', { headers: client.headers })).status).toBe(404);
    const spans = await spansOf(client);
    expect(named(spans, 'EVALSHA take').status).toEqual({ code: SpanStatusCode.ERROR });
    expect(named(spans, 'GET /v1/pets/:petId').status.code).toBe(SpanStatusCode.UNSET);
  });
});
