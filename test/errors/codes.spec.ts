import type { OpenAPIObject } from '@nestjs/swagger';
import { codesOf } from '../../src/server/openapi/codes';
import { readCommittedDocument } from '../support/committed-document';
import { LabModule } from '../modules/support/lab.module';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import { createPatientDatabase } from '../support/patience';
import { type Rejection, rejections } from '../support/rejections';
import { until } from '../support/until';
import { withoutTable } from '../support/without-table';

async function inUse(app: TestApp): Promise<HttpResponse> {
  const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
  const order = () =>
    app.post('/v1/store/orders', { petId }, { headers: { 'idempotency-key': `k${petId}` } });
  await app.database.query('BEGIN');
  await app.database.query('SELECT FROM pets WHERE id = $1 FOR UPDATE', [petId]);
  const first = order();
  try {
    await until(async () => (await lockWaits(app.database)).length > 0);
    return await order();
  } finally {
    await app.database.query('ROLLBACK');
    await first;
  }
}

function failed(app: TestApp): Promise<HttpResponse> {
  return withoutTable(app.database, 'pets', () => app.get('/v1/pets'));
}

const MORE: readonly Rejection[] = [
  [409, 'idempotency_key_in_use', inUse],
  [
    412,
    'precondition_failed',
    async (app) => {
      const { id } = (await app.post('/v1/pets', aNewPet())).json;
      return app.send('PATCH', `/v1/pets/${id}`, { body: { name: 'Max' }, headers: { 'if-match': '"x"' } });
    },
  ],
  [500, 'internal_error', failed],
  [404, 'route_not_found', (app) => app.send('PROPFIND', '/nothing', { key: undefined })],
  [400, 'bad_request', (app) => app.get('/v1/lab/exceptions/a%20list%20of%20messages')],
  [403, 'forbidden', (app) => app.get('/v1/lab/exceptions/ForbiddenException')],
  [409, 'conflict', (app) => app.get('/v1/lab/exceptions/a%20response%20without%20a%20message')],
  [401, 'unauthorized', (app) => app.get('/v1/lab/exceptions/UnauthorizedException')],
  [500, 'internal_error', (app) => app.get('/v1/lab/exceptions/a%20text')],
];

/** test/edge/protocol-errors.spec.ts requests them. */
const OF_THE_PARSER = ['headers_too_large', 'request_timeout'];

// Each request also checks the headers of its response, those of the rate limit included: openapi.json requires them.
describe('the Error body', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createPatientDatabase();
    app = await startApp({ rateLimitBanAfter: 2 }, { modules: [LabModule], database });
  });
  afterAll(() => app.close());

  it.each([...rejections, ...MORE])('%i %s has code, message and status', async (status, code, ask) => {
    expectError(await ask(app), status, code);
  });

  it('is checked for every code of the document', () => {
    const checked = new Set([...[...rejections, ...MORE].map(([, code]) => code), ...OF_THE_PARSER]);
    const { paths }: OpenAPIObject = JSON.parse(readCommittedDocument());
    const codes = codesOf(paths).map(({ code }) => code);
    expect(codes.filter((code) => !checked.has(code))).toEqual(['service_unavailable']);
  });

  it.each<[string, number, string, object]>([
    ['/v1/pets/9999', 404, 'pet_not_found', {}],
    ['/v1/pets?limit=0', 400, 'validation_failed', {}],
    ['/v1/pets?limit=0', 400, 'validation_failed', { prefer: 'handling=strict' }],
    ['/v1/pets', 401, 'invalid_api_key', { authorization: 'Bearer x' }],
    ['/v1/pets', 417, 'expectation_failed', { expect: 'x' }],
    ['/v1/nothing', 404, 'route_not_found', {}],
    ['/nothing', 404, 'route_not_found', {}],
    ['/v1/lab/exceptions/ForbiddenException', 403, 'forbidden', {}],
    ['/v1/lab/exceptions/a%20text', 500, 'internal_error', {}],
  ])('is application/json whatever Accept says: %s, %i %s', async (path, status, code, more) => {
    for (const accept of ['application/problem+json', 'text/html', 'application/json;q=0']) {
      expectError(await app.get(path, { headers: { accept, ...more } }), status, code);
    }
  });

  it.each<[string, string | Buffer]>([
    ['it cannot be parsed (at character 14)', '{\n "a": 1,\r\n  x}'],
    ['it is not valid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['two members of one object have the same name and different values (at character 8)', '{"a":1,"a":2}'],
  ])('malformed_json says: %s', async (reason, body) => {
    const { json } = await app.post('/v1/pets', body);
    expect(json.message).toBe(`The body is not acceptable JSON: ${reason}.`);
  });
});
