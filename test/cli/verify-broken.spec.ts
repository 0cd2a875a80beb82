import type { Breakage, BrokenResponse } from './support/breaking-proxy';
import { startVerified, type Verified } from './support/verified';

type Request = { readonly method: string; readonly path: string };

const isList = ({ method, path }: Request) => method === 'GET' && /^\/v1\/pets(\?|$)/.test(path);
const isPets = ({ path }: Request) => path.startsWith('/v1/pets');
const isFetch = ({ method, path }: Request) => method === 'GET' && path.startsWith('/v1/pets/');

/** Removes a header from every response. */
const without = (name: string): Breakage => ({ response: ({ headers }) => delete headers[name] });

/** Replaces the bodies of some responses. */
function rewrite(
  isMeant: (request: Request, response: BrokenResponse) => boolean,
  change: (text: string) => string,
): Breakage {
  return {
    response: (response, request) => {
      if (isMeant(request, response)) response.text = change(response.text);
    },
  };
}

/** Fails with a header that no other promise names. */
const OTHER_HEADERS = 'every other header is as the OpenAPI document describes it';

/** Replaces the bodies of the responses with this status. */
const rewriteStatus = (wanted: number, change: (text: string) => string) =>
  rewrite((_, { status }) => status === wanted, change);

const success = (_: Request, { status }: BrokenResponse) => status < 300;

describe('cli verify of a broken deployment', () => {
  let verified: Verified;
  beforeAll(async () => {
    verified = await startVerified();
  });
  // The service's clock stands still; on a busy machine the rows take longer than a minute.
  beforeEach(() => verified.syncClock());
  afterAll(() => verified.close());

  it.each<[breakage: string, promises: string[], Breakage]>([
    [
      'a wrong status',
      ['POST /pets answers 201', 'POST /pets keeps name', 'POST /store/orders answers 201', 'Cache-Control'],
      { response: (response) => (response.status = response.status === 201 ? 200 : response.status) },
    ],
    ['X-RateLimit-Limit missing', ['every answer carries X-RateLimit-Limit'], without('x-ratelimit-limit')],
    [
      'X-RateLimit-Remaining missing',
      ['every answer carries X-RateLimit-Remaining'],
      without('x-ratelimit-remaining'),
    ],
    [
      'X-RateLimit-Limit missing only from errors',
      ['every answer carries X-RateLimit-Limit'],
      { response: ({ status, headers }) => status === 404 && delete headers['x-ratelimit-limit'] },
    ],
    [
      'Reset in seconds',
      ['every answer carries X-RateLimit-Reset'],
      { response: ({ headers }) => (headers['x-ratelimit-reset'] = '42') },
    ],
    [
      'Remaining as words',
      ['every answer carries X-RateLimit-Remaining'],
      { response: ({ headers }) => (headers['x-ratelimit-remaining'] = '59 of 60') },
    ],
    [
      'an envelope instead of an array',
      ['GET /store/orders answers 200 with a JSON array of orders'],
      rewrite(
        ({ path }, { status }) => path === '/v1/store/orders' && status === 200,
        (text) => `{"items":${text}}`,
      ),
    ],
    [
      'an id as a string',
      [
        'GET /pets/{petId} answers 200 with the animal that was added',
        'PATCH /pets/{petId} with If-Match and the current ETag answers 200',
      ],
      rewrite(isFetch, (text) => text.replace(/"id":(\d+)/, '"id":"$1"')),
    ],
    [
      'an int64 that went through a double',
      [
        'POST /pets answers 201 with the animal, available where no status is given',
        'POST /pets keeps name, status and categoryId exactly, over the whole range of int64',
      ],
      rewrite(
        ({ method }, { status }) => method === 'POST' && status === 201,
        (text) => JSON.stringify(JSON.parse(text)),
      ),
    ],
    [
      'an Error body with an additional member',
      ['every error has a body of exactly code, message and status'],
      rewriteStatus(404, (text) => text.replace('{', '{"stack":"…",')),
    ],
    [
      'an Error body with another status than the response',
      ['every error has a body of exactly code, message and status'],
      rewriteStatus(400, (text) => text.replace(':400', ':422')),
    ],
    [
      '401 without WWW-Authenticate',
      ['401 carries WWW-Authenticate: Bearer', OTHER_HEADERS],
      without('www-authenticate'),
    ],
    [
      'invalid_api_key reported as missing_api_key',
      ['a wrong key answers 401 invalid_api_key'],
      rewriteStatus(401, (text) => text.replace('invalid_api_key', 'missing_api_key')),
    ],
    [
      'a limit that is clamped',
      ['limit outside 1 to 100 answers 400 validation_failed and is not clamped'],
      { path: (path) => path.replace('/pets?limit=101', '/pets?limit=100') },
    ],
    [
      'a page larger than its limit',
      [
        'limit=1 returns one animal',
        'Link with rel="next" leads from page to page, none repeating an animal',
        'Link keeps limit and status',
        'a cursor of another status',
      ],
      { path: (path) => path.replace('limit=1&', 'limit=2&').replace(/limit=1$/, 'limit=2') },
    ],
    [
      'a status filter that does nothing',
      ['status returns only', 'Link keeps limit', 'id and status together', 'a cursor of another status'],
      { path: (path) => path.replace(/([?&])status=(available|pending|sold)/, '$1') },
    ],
    [
      'no Link',
      ['Link with rel="next"', 'Link keeps limit', 'sort=-id returns', 'a cursor of another status'],
      { response: ({ headers }, request) => isList(request) && delete headers['link'] },
    ],
    [
      'a Link to the same page',
      [
        'animals come by ascending id, and only a full page has a next one',
        'Link with rel="next" leads from page to page',
        'Link keeps limit and status',
        'a cursor of another status',
      ],
      {
        response: ({ headers }, request) => {
          if (isList(request)) headers['link'] = `<${request.path}>; rel="next"`;
        },
      },
    ],
    [
      'Deprecation missing',
      ['GET /pets/{petId} announces its removal on 5 December 2030'],
      without('deprecation'),
    ],
    [
      'another removal date',
      ['GET /pets/{petId} announces its removal on 5 December 2030'],
      {
        response: ({ headers }) => {
          if (headers['sunset']) headers['sunset'] = 'Fri, 05 Dec 2031 00:00:00 GMT';
        },
      },
    ],
    [
      'the wrong media type',
      ['every answer is application/json'],
      {
        response: ({ headers }, { path }) => {
          if (path === '/v1/pets/rex') headers['content-type'] = 'text/html';
        },
      },
    ],
    [
      '200 in place of 404',
      [
        'GET /pets/{petId} of an animal that does not exist answers 404',
        'GET /pets/{petId} with what is no',
        'DELETE /pets/{petId} answers 204, then GET answers 404',
        OTHER_HEADERS,
      ],
      {
        response: (response) =>
          (response.status =
            response.status === 404 && /pet_not/.test(response.text) ? 200 : response.status),
      },
    ],
    [
      'Location missing',
      [
        'POST /pets answers 201 with the animal, available where no status is given, and its Location',
        'POST /pets keeps',
        OTHER_HEADERS,
      ],
      without('location'),
    ],
    ['405 without Allow', ['a method that an address lacks answers 405'], without('allow')],
    [
      'responses that caches may store',
      ['every answer carries Cache-Control: private, no-cache on a 200'],
      { response: ({ headers }) => (headers['cache-control'] = 'public, max-age=60') },
    ],
    [
      'RateLimit in another form',
      [OTHER_HEADERS],
      { response: ({ headers }) => (headers['ratelimit'] = '59') },
    ],
    [
      'no X-Request-Id',
      ['an error is application/problem+json', 'every answer carries X-Request-Id'],
      without('x-request-id'),
    ],
    [
      'an unknown status of an animal',
      [
        'POST /pets answers 201',
        'POST /pets keeps',
        'GET /pets/{petId} answers 200',
        'PATCH /pets/{petId} with',
      ],
      rewrite(
        (request, response) => isPets(request) && !isList(request) && success(request, response),
        (text) => text.replace(/"status":"\w+"/, '"status":"new"'),
      ),
    ],
  ])('exits with 1 and names the broken promises: %s', async (_, promises, breakage) => {
    const key = await verified.createKey();
    const { status, broken, lines } = await verified.run(
      ['--base-url', verified.proxy.url, '--key', key],
      breakage,
    );
    expect(broken).toHaveLength(promises.length);
    for (const [at, promise] of promises.entries()) {
      expect(broken[at]).toContain(promise);
      expect(broken[at]).toMatch(/: .*expected .*, got \S/);
    }
    expect(status).toBe(1);
    expect(lines.some((line) => line.includes(` ${promises.length} broken. `))).toBe(true);
  });
});
