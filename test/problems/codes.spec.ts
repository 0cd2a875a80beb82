import type { OpenAPIObject } from '@nestjs/swagger';
import { codesOf } from '../../src/server/openapi/codes';
import { readCommittedDocument } from '../support/committed-document';
import { kennels } from '../modules/support/kennels.extension';
import { LabModule } from '../modules/support/lab.module';
import { startApp, type TestApp } from '../support/app';
import { connectAdmin, END_OTHER_SESSIONS } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import type { Rejection } from '../support/module-operations';
import { createPatientDatabase } from '../support/patience';
import { rejectedByParser, rejections } from '../support/rejections';
import { until } from '../support/until';
import { asProblems, expectProblem, PROBLEM } from './support/problem';
import { withoutTable } from '../support/without-table';

/** Two requests for an error differ in these. */
const OWN = /^(content-type|content-length|x-request-id|date|etag|(x-)?ratelimit.*)$/;

function comparable({ headers }: HttpResponse): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.test(name)));
}

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
  [405, 'method_not_allowed', (app) => app.send('PUT', '/livez', { key: undefined })],
  [400, 'bad_request', (app) => app.get('/v1/lab/exceptions/a%20list%20of%20messages')],
  [403, 'forbidden', (app) => app.get('/v1/lab/exceptions/ForbiddenException')],
  [409, 'conflict', (app) => app.get('/v1/lab/exceptions/a%20response%20without%20a%20message')],
  [401, 'unauthorized', (app) => app.get('/v1/lab/exceptions/UnauthorizedException')],
  [500, 'internal_error', (app) => app.get('/v1/lab/exceptions/a%20text')],
];

const without = { key: undefined };

// Each request also checks the headers of its response, those of the rate limit included: openapi.json requires them.
describe('problem details', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createPatientDatabase();
    app = await startApp({ rateLimitBanAfter: 2 }, { extensions: [kennels], modules: [LabModule], database });
  });
  afterAll(() => app.close());

  it.each([...rejections, ...MORE])(
    '%i %s has the status, code, message and headers of the Error body, and the members of RFC 9457',
    async (status, code, ask) => {
      const plain = await ask(app);
      const problem = await ask(asProblems(app));
      expect(plain).toMatchObject({ status, json: { code } });
      expectProblem(problem, status, code);
      expect(problem.json.detail).toBe(plain.json.message);
      expect(comparable(problem)).toEqual(comparable(plain));
    },
  );

  it('are checked for every code of the document', async () => {
    const checked = new Set([...rejections, ...MORE, ...rejectedByParser].map(([, code]) => code));
    const codes = codesOf((JSON.parse(readCommittedDocument()) as OpenAPIObject).paths).map(
      ({ code }) => code,
    );
    expect(codes.filter((code) => !checked.has(code))).toEqual(['service_unavailable']);
  });

  it('503 service_unavailable has problem details, on /readyz, too', async () => {
    const name = new URL(app.database.url).pathname.slice(1);
    const admin = await connectAdmin();
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    try {
      await app.database.query(END_OTHER_SESSIONS);
      const asking = asProblems(app);
      for (const response of [await asking.get('/v1/pets'), await asking.get('/readyz', without)]) {
        expectProblem(response, 503, 'service_unavailable');
        expect(response.headers['retry-after']).toBe('1');
      }
    } finally {
      await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
      await admin.end();
    }
  });

  describe('the page of a code', () => {
    const page = (code: string) => app.get(`/problems/${code}`, without);

    it('exists for every code of the document, those of extensions included', async () => {
      const document = (await app.get('/openapi.json', without)).json;
      const codes = codesOf(document.paths, kennels.errors);
      expect(codes.map(({ code }) => code)).toEqual(
        expect.arrayContaining(['kennel_closed', 'under_embargo']),
      );
      for (const { code, status } of codes) {
        const { status: got, headers, text } = await page(code);
        expect([code, got, headers['content-type']]).toEqual([code, 200, 'text/html; charset=utf-8']);
        expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
        expect(text).not.toMatch(/<script|\son\w+=|style="/);
        // Codes of the document replace those of a bare status.
        expect(text).not.toContain('for a reason of its own');
        expect(text).toMatch(
          new RegExp(`>${status} [A-Za-z ]+</span> <code>${code}</code>.*<h1>[A-Z][A-Za-z ]+</h1>`, 's'),
        );
      }
    });

    it('says the code, the status, when the error happens, what to do, and which operations have it', async () => {
      const { text } = await page('api_key_banned');
      expect(text).toContain('<span class="tag">429 Too Many Requests</span> <code>api_key_banned</code>');
      expect(text).toContain('<p>The key is temporarily banned for ignoring <code>Retry-After</code>.</p>');
      expect(text).toMatch(/<h2>What to do<\/h2>\n<p>Send nothing with this key until/);
      expect(text).toMatch(
        /Every operation, except<\/span>\s+<a href="[.][.]\/docs#\/key\/getKey"><code>getKey</,
      );
      const { text: own } = await page('pet_has_open_order');
      expect([...own.matchAll(/<code>(\w+Pet)</g)].map(([, id]) => id)).toEqual(['updatePet', 'deletePet']);
      const [, body] = /<pre[^>]*><code>(.*?)<\/code>/s.exec(text)!;
      expect(JSON.parse(body!.replaceAll('&quot;', '"'))).toEqual({
        code: 'api_key_banned',
        message: expect.stringMatching(/banned/),
        status: 429,
      });
    });

    it('is linked from the list of all codes, /problems', async () => {
      const { status, text } = await app.get('/problems', without);
      const links = [...text.matchAll(/href="\.\/problems\/(\w+)"/g)].map(([, code]) => code);
      const { paths } = (await app.get('/openapi.json', without)).json;
      expect([status, links]).toEqual([200, codesOf(paths, kennels.errors).map(({ code }) => code)]);
    });

    it('is the address in type of problem details, for codes by status, too', async () => {
      for (const path of [
        '/v1/nothing',
        '/v1/lab/exceptions/a%20list%20of%20messages',
        '/v1/lab/exceptions/an%20unassigned%20status',
      ]) {
        const { json } = await app.get(path, { headers: { accept: PROBLEM } });
        const { status, text } = await app.get(json.type, without);
        expect([path, status]).toEqual([path, 200]);
        expect(text).toContain(`<h1>${json.title}</h1>`);
      }
    });

    it('is 404 route_not_found for an unknown code, and 405 for another method', async () => {
      for (const path of ['/problems/nothing', '/problems/', '/problems/ok', '/problems/__proto__'])
        expectError(await app.get(path, without), 404, 'route_not_found');
      const response = await app.post('/problems/route_not_found', {}, without);
      expectError(response, 405, 'method_not_allowed');
      expect(response.headers['allow']).toBe('GET, HEAD');
    });
  });
});
