import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { JSON_SCHEMA, load } from 'js-yaml';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { type HttpResponse, rejectUndocumented, rejectUndocumentedRaw } from '../support/http';
import { COMMON_HEADERS } from '../../src/api/operation/header-catalogue';
import { ApiDocument } from '../../src/testing/api-document';
import { breakingChanges } from './support/breaking-changes';
import { currentDocument } from '../../scripts/current-document';
import { missingRelease } from '../../scripts/missing-release';
import { errorsPage, withScopes } from '../../scripts/api-tables';

/**
 * The changes since the release that the comparison takes for breaking. Each 200 has an ETag now: the client may store it
 * for itself, and must ask each time whether it is current. A client that stores nothing sees no difference. The text of
 * `status` has its default, because generators make a member with `default` required.
 */
const ACCEPTED = [
  '/pets get',
  '/pets/{petId} get',
  '/store/orders get',
  '/store/orders/{orderId} get',
  '/store/orders/{orderId} patch',
]
  .flatMap((operation) => [
    `${operation} 200 Cache-Control: lacks the value no-store`,
    `${operation} 200 Cache-Control: has the new value private, no-cache`,
  ])
  .concat('/pets post body status: has another default');

/** Version 2.0 removes them: an error has one form. */
const PROBLEM_DETAILS = /^\S+ \w+ [45]\d\d: lacks the media type application\/problem\+json$/;

/** `info.description` has the headers of every response, and of a deprecated operation; `default` has the status 503. */
const IN_THE_DESCRIPTION = new RegExp(
  [
    `lacks the (required )?header (${Object.keys(COMMON_HEADERS).join('|')})$`,
    '/pets/{petId} get [45]\\d\\d: lacks the header (Link|Deprecation|Sunset)$',
    ' 503: lacks the required header Retry-After$',
  ].join('|'),
  'i',
);

const ROOT = join(__dirname, '..', '..');
const committed = readFileSync(join(ROOT, 'openapi.json'), 'utf8');

/** Adds a header that the document lacks, if the request asks for it. */
function addSurprise(nest: NestFastifyApplication): void {
  const fastify = nest.getHttpAdapter().getInstance();
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    if (request.headers['x-surprise'] !== undefined) reply.header('X-Surprise', 'yes');
    done();
  });
}

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  app = await startApp({}, { beforeListen: addSurprise });
});

describe('openapi.json', () => {
  it('equals the served document under the default settings; if not, run npm run -s openapi', async () => {
    const { text } = await app.get('/openapi.json', { key: undefined });
    expect(text).toBe(committed);
    expect(await currentDocument()).toBe(committed);
  });

  it('has no breaking change since the last release but the accepted ones; others belong under /v2', () => {
    const released = JSON.parse(readFileSync(join(__dirname, 'released.json'), 'utf8'));
    const found = breakingChanges(released, JSON.parse(committed));
    const others = found.filter((each) => !PROBLEM_DETAILS.test(each) && !IN_THE_DESCRIPTION.test(each));
    expect(new Set(others)).toEqual(new Set(ACCEPTED));
  });

  it('has the exact bounds of int64, and so has the same document in YAML', async () => {
    const yaml = (await app.get('/openapi.yaml', { key: undefined })).text;
    for (const [text, quote] of [
      [committed, '"'],
      [yaml, ''],
    ] as const) {
      expect(text).toContain(`${quote}minimum${quote}: -9223372036854775808`);
      expect(text).toContain(`${quote}maximum${quote}: 9223372036854775807`);
      expect(text).not.toMatch(/9223372036854776/);
    }
    expect(load(yaml, { schema: JSON_SCHEMA })).toEqual(JSON.parse(committed));
  });

  it('has the scopes of docs/guide.md and the codes of docs/errors.md; if not, run npm run -s openapi', () => {
    const page = (name: string) => readFileSync(join(ROOT, 'docs', name), 'utf8');
    expect(page('guide.md')).toBe(withScopes(page('guide.md'), JSON.parse(committed)));
    expect(page('errors.md')).toBe(errorsPage(JSON.parse(committed)));
  });
});

// The linters of test/interop require ids, summaries, tags, security, bounds, and the responses 401, 429 and 500.
describe('the operations of openapi.json', () => {
  const { paths, components } = JSON.parse(committed);

  it('marks all operations but those of the specification as extensions', () => {
    const operations: any[] = Object.values<any>(paths).flatMap((item) => Object.values<any>(item));
    const specified = operations.filter((each) => !each['x-extension']).map((each) => each.operationId);
    expect(specified).toEqual(['listPets', 'createPet', 'getPet', 'listOrders']);
  });

  it('has no word about commands of the operator, about extensions, or about a specification', () => {
    const texts = committed.replaceAll('"x-extension": true', '');
    expect(texts).not.toMatch(/npm run|keys (create|list)|extension|specification/i);
  });

  it('are at most 200 kB, with an example for each schema, and a typed client may leave out status of a new animal', () => {
    const { schemas } = components;
    expect(Buffer.byteLength(committed)).toBeLessThanOrEqual(200_000);
    const api = new ApiDocument(committed);
    const hasNone = (name: string) => api.exampleOf(schemas[name]) === undefined;
    expect(Object.keys(schemas).filter(hasNone)).toEqual([]);
    // Generators make a member with a default required, also in a request.
    expect(schemas.NewPet.properties.status).not.toHaveProperty('default');
  });
});

describe('a change of openapi.json', () => {
  it('is a release with a dated entry of CHANGELOG.md for its version', () => {
    expect(missingRelease(committed, readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))).toBeUndefined();
    const missing = (changelog: string) => missingRelease('{"info":{"version":"1.2.0"}}', changelog);
    expect(missing('# Changelog\n\n## [1.2.0] - 2027-01-31\n')).toBeUndefined();
    for (const entry of ['## [Unreleased]', '## [1.1.0] - 2027-01-31', '## [1.2.0]', '## [1.2.0] - soon'])
      expect(missing(entry)).toBe(
        'CHANGELOG.md has no entry for version 1.2.0 of openapi.json. Add "## [1.2.0] - YYYY-MM-DD" and run npm run openapi:release again.',
      );
  });
});

describe('a response that openapi.json does not document fails the spec that requested it', () => {
  const error = (status: number, code: string) => ({
    status,
    text: JSON.stringify({ code, message: 'x', status }),
  });

  it.each<[what: string, message: string, method: string, difference: Partial<HttpResponse>]>([
    ['no header', 'x-request-id: must be there', 'GET', { headers: {} }],
    ['a type', 'must be application/json', 'GET', { headers: { 'content-type': 'text/html' } }],
    ['a code', 'body /code: must be one of', 'GET', { text: '{"code":"pet_not_found"}' }],
    ['a status that is not of `default`', 'got "402 {', 'GET', error(402, 'payment_required')],
    ['a code that is not of `default`', 'must be one of request_timeout', 'GET', error(408, 'uri_too_long')],
    ['a code without its header', 'retry-after: must be there', 'GET', error(503, 'service_unavailable')],
    ['a body of HEAD', 'must be empty after HEAD', 'HEAD', {}],
  ])('with %s: %s', async (_what, message, method, difference) => {
    const response = await app.get('/v1/pets?limit=0');
    expect(() => rejectUndocumented(method, '/v1/pets', { ...response, ...difference })).toThrow(message);
  });

  it('unless it is an error of `default`', async () => {
    const response = await app.get('/v1/pets?limit=0');
    const timedOut = { ...response, ...error(408, 'request_timeout') };
    expect(() => rejectUndocumented('GET', '/v1/pets', timedOut)).not.toThrow();
  });

  it('by every client of test/support, for every spelling of a path', async () => {
    await app.post('/v1/pets', aNewPet());
    for (const path of ['/v1/pets', '/v1/%70ets?limit=1', '/v1/pets/1']) {
      const response = app.get(path, { headers: { 'x-surprise': 'please' } });
      await expect(response).rejects.toThrow('header x-surprise: must not be there, got "yes"');
    }
    const raw = 'HTTP/1.1 418 No\r\ncontent-length: 2\r\n\r\nno';
    expect(() => rejectUndocumentedRaw('GET /v1/pets HTTP/1.1\r\n\r\n', raw)).toThrow('got "418 no"');
  });
});
