import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { JSON_SCHEMA, load } from 'js-yaml';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { type HttpResponse, rejectUndocumented, rejectUndocumentedRaw } from '../support/http';
import { breakingChanges } from './support/breaking-changes';
import { currentDocument } from '../../scripts/current-document';
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
    expect(new Set(found.filter((change) => !PROBLEM_DETAILS.test(change)))).toEqual(new Set(ACCEPTED));
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

describe('a response that openapi.json does not document fails the spec that requested it', () => {
  let created: HttpResponse;
  let listed: HttpResponse;
  beforeAll(async () => {
    created = await app.post('/v1/pets', aNewPet());
    listed = await app.get('/v1/pets');
  });

  const body = (change: Record<string, unknown>) => ({
    text: JSON.stringify({ ...JSON.parse(created.text), ...change }),
  });
  const headers = (change: Record<string, string>) => ({ headers: { ...created.headers, ...change } });
  const without = (name: string) => ({
    headers: Object.fromEntries(Object.entries(created.headers).filter(([key]) => key !== name)),
  });

  it.each<[string, string, () => Partial<HttpResponse>]>([
    ['a status', 'got "202 {', () => ({ status: 202 })],
    ['a header', 'header x-surprise: must not be there', () => headers({ 'x-surprise': 'yes' })],
    ['a missing header', 'header location: must be there', () => without('location')],
    ['a member', 'must NOT have additional properties', () => body({ price: 1 })],
    ['a string as id', 'body /id: must be integer', () => body({ id: '1' })],
    ['a name that is too long', 'must NOT have more than 255', () => body({ name: 'x'.repeat(256) })],
  ])('%s: %s', (_what, message, change) => {
    expect(() => rejectUndocumented('POST', '/v1/pets', created)).not.toThrow();
    expect(() => rejectUndocumented('POST', '/v1/pets', { ...created, ...change() })).toThrow(message);
  });

  it('rejects an error of another media type, with another member, or with a code that is not documented', async () => {
    const rejected = await app.get('/v1/pets?limit=0');
    const check = (change: object, type = rejected.headers['content-type']) =>
      rejectUndocumented('GET', '/v1/pets', {
        ...rejected,
        headers: { ...rejected.headers, 'content-type': type },
        text: JSON.stringify({ ...rejected.json, ...change }),
      });
    expect(() => check({})).not.toThrow();
    expect(() => check({}, 'text/html')).toThrow('header content-type: must be application/json');
    expect(() => check({ reason: 'x' })).toThrow('must NOT have additional properties');
    expect(() => check({ message: undefined })).toThrow("must have required property 'message'");
    expect(() => check({ code: 'pet_not_found' })).toThrow('body /code: must be one of');
  });

  it('rejects a body of HEAD and a page of more than 100 items', () => {
    expect(() => rejectUndocumented('HEAD', '/v1/pets', { ...listed, text: '' })).not.toThrow();
    expect(() => rejectUndocumented('HEAD', '/v1/pets', listed)).toThrow('must be empty after HEAD');
    const text = `[${Array<string>(101).fill(created.text).join()}]`;
    expect(() => rejectUndocumented('GET', '/v1/pets?limit=2', { ...listed, text })).toThrow('more than 100');
  });

  it('checks every client of test/support and every spelling of a path', async () => {
    for (const path of ['/v1/pets', '/v1/%70ets?limit=1', '/v1/pets/1']) {
      const response = app.get(path, { headers: { 'x-surprise': 'please' } });
      await expect(response).rejects.toThrow('header x-surprise: must not be there, got "yes"');
    }
    const raw = 'HTTP/1.1 418 No\r\ncontent-length: 2\r\n\r\nno';
    expect(() => rejectUndocumentedRaw('GET /v1/pets HTTP/1.1\r\n\r\n', raw)).toThrow('got "418 no"');
  });

  it('ignores responses of paths and methods without an operation', () => {
    for (const path of ['/v1/nothing', '/v1/pets/', '/livez', '/v1/pets/1/x']) {
      expect(() => rejectUndocumented('GET', path, { ...listed, status: 418 })).not.toThrow();
    }
    expect(() => rejectUndocumented('DELETE', '/v1/pets', { ...listed, status: 405 })).not.toThrow();
  });
});
