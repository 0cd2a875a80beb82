/** @jest-environment-options {"ownSources": true} */
import { request as httpRequest } from 'node:http';
import { Controller, Get, Module } from '@nestjs/common';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { allSpans, clientSpan, named, spansOf, treeOf } from '../support/traces';
import { RequireScope } from '../../src/auth';
import { Sql } from '../../src/platform/database/sql';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const SECRET = 'a-secret-of-the-client';

@Controller({ path: 'team', version: '1' })
class TeamController {
  constructor(private readonly sql: Sql) {}

  @Get('fact')
  @RequireScope('pets:read')
  fact() {
    trace.getActiveSpan()?.setAttribute('team.fact', 7);
    return trace.getTracer('team').startActiveSpan('team work', async (span) => {
      await this.sql.rows({ name: 'team_fact', text: 'SELECT 1 AS fact' }, []);
      span.end();
      return {};
    });
  }

  @Get('division')
  @RequireScope('pets:read')
  async division() {
    await this.sql.rows({ name: 'team_division', text: `SELECT 1 / (length($1::text) - ${SECRET.length})` }, [
      SECRET,
    ]);
  }
}

@Module({ controllers: [TeamController] })
class TeamModule {}

describe('the trace of a request', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [TeamModule] });
    await app.get('/v1/pets');
  });
  afterAll(() => app.close());

  it('is active in the handler of an extension, which adds facts and spans', async () => {
    const client = clientSpan();
    expect((await app.get('/v1/team/fact', { headers: client.headers })).status).toBe(200);
    const spans = await spansOf(client);
    expect(treeOf(spans, client).slice(1)).toEqual([
      'GET /v1/team/fact > team work',
      'team work > team_fact',
    ]);
    expect(named(spans, 'GET /v1/team/fact').attributes).toMatchObject({ 'team.fact': 7 });
  });

  it('has the SQLSTATE of a failed statement, and a 500 as an error of the server', async () => {
    const client = clientSpan();
    expect((await app.get('/v1/team/division', { headers: client.headers })).status).toBe(500);
    const spans = await spansOf(client);
    const failed = { code: SpanStatusCode.ERROR };
    expect(named(spans, 'team_division')).toMatchObject({
      status: failed,
      attributes: { 'error.type': '22012' },
    });
    expect(named(spans, 'GET /v1/team/division')).toMatchObject({
      status: failed,
      attributes: { 'error.type': 'internal_error', 'animal_store.error_code': 'internal_error' },
    });
    const line = app.log.map((each) => JSON.parse(each)).find(({ msg }) => msg === 'request failed');
    expect(line).toMatchObject({ trace_id: client.traceId });
  });

  it('is named in problem details', async () => {
    const client = clientSpan();
    const headers = { ...client.headers, accept: 'application/problem+json' };
    for (const path of ['/v1/pets/0', '/v1/pets/x', '/v1/team/division', '/absent']) {
      expect((await app.get(path, { headers })).json).toMatchObject({ trace_id: client.traceId });
    }
  });

  it('ends without a status if the client disconnects within its body', async () => {
    const client = clientSpan();
    const headers = { ...client.headers, authorization: `Bearer ${app.key}`, 'content-length': '100' };
    const request = httpRequest(`${app.url}/v1/pets`, { method: 'POST', headers });
    request.on('error', () => undefined).write('{');
    await until(() => allSpans().some(({ name }) => name === 'POST /v1/pets'));
    request.destroy();
    const { attributes } = named(await spansOf(client), 'POST /v1/pets');
    expect(attributes).not.toHaveProperty('http.response.status_code');
  });

  it('has no key, query, header or body of the client, even in a path', async () => {
    const from = allSpans().length;
    const key = await app.unlimitedKey();
    const headers = { 'x-secret': SECRET, 'x-request-id': key.replaceAll(' ', '') };
    const client = clientSpan();
    const options = { key, headers: { ...headers, ...client.headers } };
    await app.post(`/v1/pets?secret=${SECRET}`, aNewPet({ name: SECRET }), options);
    await app.get(`/v1/${key}?${SECRET}`, options);
    await app.get(`/v1/pets/${key}`, options);
    await app.get('/v1/team/division', options);
    await spansOf(client, 4);
    const spans = allSpans().slice(from);
    const text = JSON.stringify(
      spans.map(({ name, attributes, events, status, links }) => ({
        name,
        attributes,
        events,
        status,
        links,
      })),
    );
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(key.slice('ask_test_'.length));
    expect(text).toContain('/v1/ask_test_…');
    expect(spans.filter(({ kind }) => kind === SpanKind.SERVER)).toHaveLength(4);
  });

  it('has no spans below a request that the client does not sample', async () => {
    const from = allSpans().length;
    const traceId = 'd'.repeat(32);
    const traceparent = `00-${traceId}-${'e'.repeat(16)}-00`;
    await app.get('/v1/pets', { headers: { traceparent, 'x-request-id': 'unsampled' } });
    expect(allSpans()).toHaveLength(from);
    const lines = app.log.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === 'unsampled');
    expect(lines).toEqual([expect.objectContaining({ trace_id: traceId })]);
  });
});

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

  it('has the call of the script, without the key id and the account', async () => {
    const client = clientSpan();
    await app.get('/v1/pets/1', { headers: client.headers });
    const spans = await spansOf(client);
    expect(treeOf(spans, client)).toContain('GET /v1/pets/:petId > EVALSHA take');
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
