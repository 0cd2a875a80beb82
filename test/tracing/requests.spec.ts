/** @jest-environment-options {"ownSources": true} */
import { request as httpRequest } from 'node:http';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { allSpans, clientSpan, named, spansOf, treeOf } from '../support/traces';
import { KeyLookups } from '../../src/auth/key-lookups';
import { CoalescedRead } from '../../src/platform/database/coalesced-read';
import { JoinedInserts } from '../../src/platform/database/joined-inserts';
import { traceStatement } from '../../src/platform/database/statement-spans';
import { startApp, type TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { hasPreparedStatements } from '../support/database';
import { aNewPet } from '../support/factories';
import { until } from '../support/until';

/** Without prepared statements no creations are joined. */
const INSERT = hasPreparedStatements() ? 'pets_insert_all' : 'pets_insert';
const TINY = { plan: 'enterprise', perMinute: 1, perDay: 100 } as const;

const idOf = (span: ReadableSpan) => span.spanContext().spanId;
const linkedIds = ({ links }: ReadableSpan) => links.map(({ context }) => context.spanId);

describe('the trace of a request', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('has the span of the client, the request, the key lookup and each statement', async () => {
    const client = clientSpan();
    const { key } = await app.createKey();
    const created = await app.post('/v1/pets', aNewPet(), { key, headers: client.headers });
    expect(created.status).toBe(201);
    const spans = await spansOf(client);
    expect(treeOf(spans, client)).toEqual([
      'client > POST /v1/pets',
      'POST /v1/pets > key lookup',
      'key lookup > api_keys_by_secrets',
      `POST /v1/pets > ${INSERT}`,
    ]);
    expect(named(spans, 'POST /v1/pets')).toMatchObject({
      kind: SpanKind.SERVER,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/pets',
        'http.response.status_code': 201,
        'url.path': '/v1/pets',
        'url.scheme': 'http',
        'animal_store.request_id': created.headers['x-request-id'],
      },
    });
    expect(named(spans, INSERT)).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: { 'db.system.name': 'postgresql', 'db.query.summary': INSERT },
    });
  });

  it('has the statement of a request whose body arrives later', async () => {
    const client = clientSpan();
    const body = JSON.stringify(aNewPet());
    const headers = {
      ...client.headers,
      authorization: `Bearer ${app.key}`,
      'content-type': 'application/json',
      'content-length': body.length,
    };
    const request = httpRequest(`${app.url}/v1/pets`, { method: 'POST', headers });
    request.flushHeaders();
    await until(() => allSpans().some((span) => span.spanContext().traceId === client.traceId));
    request.end(body).on('response', (response) => response.resume());
    const spans = await spansOf(client);
    expect(treeOf(spans, client)).toContain(`POST /v1/pets > ${INSERT}`);
  });

  it('has no key lookup if the key is cached', async () => {
    const client = clientSpan();
    await app.get('/v1/pets');
    await app.get('/v1/pets/1', { headers: client.headers });
    expect(treeOf(await spansOf(client), client)).toEqual([
      'client > GET /v1/pets/:petId',
      'GET /v1/pets/:petId > pets_find',
    ]);
  });

  it('has every statement of a transaction, also its begin and its end', async () => {
    const client = clientSpan();
    const { id } = (await app.post('/v1/pets', aNewPet())).json;
    const { headers } = client;
    expect((await app.send('PATCH', `/v1/pets/${id}`, { body: { name: 'Mimi' }, headers })).status).toBe(200);
    const request = 'PATCH /v1/pets/:petId';
    expect(treeOf(await spansOf(client), client).slice(1)).toEqual([
      `${request} > START TRANSACTION`,
      `${request} > SELECT`,
      `${request} > UPDATE`,
      `${request} > COMMIT`,
    ]);
  });

  it('is continued in the log: every line of the request has its trace_id', async () => {
    const client = clientSpan();
    await app.get('/v1/pets', { headers: { ...client.headers, 'x-request-id': 'logged' } });
    await spansOf(client);
    const lines = app.log.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === 'logged');
    expect(lines).toEqual([expect.objectContaining({ msg: 'request', trace_id: client.traceId })]);
  });

  it('begins in the service without a traceparent, or with an invalid one', async () => {
    for (const traceparent of [undefined, 'x', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`]) {
      const before = allSpans().length;
      await app.get('/livez', { headers: traceparent === undefined ? {} : { traceparent } });
      await app.get('/livez');
      const span = named(allSpans().slice(before), 'GET /livez');
      expect(span.parentSpanContext).toBeUndefined();
    }
  });

  it('has the code of a 4xx, and no error of the server', async () => {
    const limited = (await app.createKey({ choice: TINY })).key;
    await app.get('/v1/pets', { key: limited });
    const requests: [number, string, string, string | undefined][] = [
      [401, 'missing_api_key', '/v1/pets', undefined],
      [401, 'invalid_api_key', '/v1/pets', `${app.key.slice(0, -1)}!`],
      [429, 'rate_limit_exceeded', '/v1/pets', limited],
      [404, 'route_not_found', '/v1/nothing', app.key],
      [404, 'pet_not_found', '/v1/pets/404', app.key],
    ];
    for (const [status, code, path, key] of requests) {
      const client = clientSpan();
      expect((await app.get(path, { key, headers: client.headers })).status).toBe(status);
      const spans = await spansOf(client);
      expect(spans.map((span) => span.status.code)).toEqual(spans.map(() => SpanStatusCode.UNSET));
      const [request] = spans;
      expect(request?.attributes).toMatchObject({
        'http.response.status_code': status,
        'animal_store.error_code': code,
      });
      expect(request?.attributes).not.toHaveProperty('error.type');
    }
  });

  it('has only the method as the name of a request without a route, and HTTP for an unusual method', async () => {
    const client = clientSpan();
    await app.get('/v1/nothing', { headers: client.headers });
    await app.send('PROPFIND', '/v1/pets', { headers: client.headers });
    const spans = await spansOf(client, 2);
    expect(named(spans, 'GET').attributes).not.toHaveProperty('http.route');
    expect(named(spans, 'HTTP').attributes).toMatchObject({
      'http.request.method': '_OTHER',
      'http.request.method_original': 'PROPFIND',
    });
  });
});

describe('a statement that several requests share', () => {
  const statement = <T>(result: T) => traceStatement('shared', () => Promise.resolve(result));

  /** Runs work as a request, with a span of its own. */
  const inRequest = (name: string, work: () => Promise<unknown>) =>
    trace.getTracer('spec').startActiveSpan(name, async (span) => {
      await work();
      span.end();
    });

  /** Expects one statement below the first of the requests, with links to the others, and their links to it. */
  function expectShared(from: number, [first, ...others]: string[]): void {
    const spans = allSpans().slice(from);
    const span = (name: string) => spans.findLast((each) => each.name === name)!;
    const shared = span('shared');
    expect(shared.parentSpanContext?.spanId).toBe(idOf(span(first!)));
    expect(linkedIds(shared)).toEqual(others.map((name) => idOf(span(name))));
    expect(others.map((name) => linkedIds(span(name)))).toEqual(others.map(() => [idOf(shared)]));
    expect(linkedIds(span(first!))).toEqual([]);
  }

  it('is in the trace of the first creation that it joins, with links from and to the others', async () => {
    const inserts = new JoinedInserts((rows: readonly number[]) => statement(rows), 1_000);
    const from = allSpans().length;
    const names = ['one', 'two', 'three'];
    await Promise.all(names.map((name, at) => inRequest(name, () => inserts.add(at))));
    expectShared(from, names);
    // The batch that follows another one belongs to its own requests.
    const running = ['four', 'five'].map((name, at) => inRequest(name, () => inserts.add(at)));
    await Promise.all(running);
    expectShared(from, ['four', 'five']);
  });

  const reads = new CoalescedRead<number>();
  const lookups = new KeyLookups({ findBySecretHashes: () => statement(new Map()) }, new TestClock());
  it.each<[string, (name: string) => Promise<unknown>]>([
    ['read', () => reads.read('page', () => statement(1))],
    ['key lookup', (name) => lookups.find(name)],
  ])(
    'is in the trace of the first %s that waits for it, with links from and to the others',
    async (_what, ask) => {
      const from = allSpans().length;
      const names = ['running', 'one', 'two', 'three'];
      await Promise.all(names.map((name) => inRequest(name, () => ask(name))));
      expect(allSpans().filter(({ name }, at) => at >= from && name === 'shared')).toHaveLength(2);
      expectShared(from, ['one', 'two', 'three']);
    },
  );

  it('has no span if no request waits for it, as in background work', async () => {
    const inserts = new JoinedInserts((rows: readonly number[]) => statement(rows), 1_000);
    const from = allSpans().length;
    await inserts.add(1);
    expect(allSpans()).toHaveLength(from);
  });
});
