import type { Breakage, BrokenAnswer } from './support/breaking-proxy';
import { startVerified, type Verified } from './support/verified';

type Request = { readonly method: string; readonly path: string };

const isList = ({ method, path }: Request) => method === 'GET' && /^\/v1\/pets(\?|$)/.test(path);
const isFetch = ({ method, path }: Request) => method === 'GET' && path.startsWith('/v1/pets/');

/** A header that is missing from every answer. */
const without = (name: string): Breakage => ({ answer: ({ headers }) => delete headers[name] });

/** Text of the bodies of some answers, replaced. */
function rewrite(
  isMeant: (request: Request, answer: BrokenAnswer) => boolean,
  change: (text: string) => string,
): Breakage {
  return {
    answer: (answer, request) => {
      if (isMeant(request, answer)) answer.text = change(answer.text);
    },
  };
}

const success = (_: Request, { status }: BrokenAnswer) => status < 300;

describe('cli verify before a deployment that is broken', () => {
  let verified: Verified;
  beforeAll(async () => {
    verified = await startVerified();
  });
  afterAll(() => verified.close());

  it.each<[breakage: string, promises: string[], Breakage]>([
    [
      'a wrong status',
      ['POST /pets answers 201 with the animal', 'POST /pets keeps name, status and categoryId exactly'],
      { answer: (answer) => (answer.status = answer.status === 201 ? 200 : answer.status) },
    ],
    ['X-RateLimit-Limit missing', ['every answer carries X-RateLimit-Limit'], without('x-ratelimit-limit')],
    [
      'X-RateLimit-Remaining missing',
      ['every answer carries X-RateLimit-Remaining'],
      without('x-ratelimit-remaining'),
    ],
    [
      'X-RateLimit-Limit missing from errors alone',
      ['every answer carries X-RateLimit-Limit'],
      { answer: ({ status, headers }) => status === 404 && delete headers['x-ratelimit-limit'] },
    ],
    [
      'Reset in seconds',
      ['every answer carries X-RateLimit-Reset'],
      { answer: ({ headers }) => (headers['x-ratelimit-reset'] = '42') },
    ],
    [
      'Remaining as words',
      ['every answer carries X-RateLimit-Remaining'],
      { answer: ({ headers }) => (headers['x-ratelimit-remaining'] = '59 of 60') },
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
      ['GET /pets/{petId} answers 200 with the animal that was added'],
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
      'an Error body with a member more',
      ['every error has a body of exactly code, message and status'],
      rewrite(
        (_, { status }) => status === 404,
        (text) => text.replace('{', '{"stack":"…",'),
      ),
    ],
    [
      'an Error body with another status than the answer',
      ['every error has a body of exactly code, message and status'],
      rewrite(
        (_, { status }) => status === 400,
        (text) => text.replace(':400', ':422'),
      ),
    ],
    ['401 without WWW-Authenticate', ['401 carries WWW-Authenticate: Bearer'], without('www-authenticate')],
    [
      'a wrong key answered as a missing one',
      ['a wrong key answers 401 invalid_api_key'],
      rewrite(
        (_, { status }) => status === 401,
        (text) => text.replace('invalid_api_key', 'missing_api_key'),
      ),
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
      ],
      { path: (path) => path.replace('limit=1&', 'limit=2&').replace(/limit=1$/, 'limit=2') },
    ],
    [
      'a status filter that does nothing',
      ['status returns only animals of that status', 'Link keeps limit and status'],
      { path: (path) => path.replace(/([?&])status=(available|pending|sold)/, '$1') },
    ],
    [
      'no Link',
      ['Link with rel="next" leads from page to page', 'Link keeps limit and status'],
      { answer: ({ headers }, request) => isList(request) && delete headers['link'] },
    ],
    [
      'a Link that leads to the same page',
      [
        'animals come by ascending id, and only a full page has a next one',
        'Link with rel="next" leads from page to page',
        'Link keeps limit and status',
      ],
      {
        answer: ({ headers }, request) => {
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
      'another date of removal',
      ['GET /pets/{petId} announces its removal on 5 December 2030'],
      {
        answer: ({ headers }) => {
          if (headers['sunset']) headers['sunset'] = 'Fri, 05 Dec 2031 00:00:00 GMT';
        },
      },
    ],
    [
      'the wrong media type',
      ['every answer is application/json'],
      {
        answer: ({ headers }, { path }) => {
          if (path === '/v1/pets/rex') headers['content-type'] = 'text/html';
        },
      },
    ],
    [
      '404 answered as 200',
      ['GET /pets/{petId} of an animal that does not exist answers 404', 'GET /pets/{petId} with what is no'],
      {
        answer: (answer) =>
          (answer.status = answer.status === 404 && /pet_not/.test(answer.text) ? 200 : answer.status),
      },
    ],
    [
      'Location missing',
      [
        'POST /pets answers 201 with the animal, available where no status is given, and its Location',
        'POST /pets keeps',
      ],
      without('location'),
    ],
    ['405 without Allow', ['a method that an address lacks answers 405'], without('allow')],
    [
      'answers that may be stored',
      ['every answer carries Cache-Control: no-store'],
      { answer: ({ headers }) => (headers['cache-control'] = 'public, max-age=60') },
    ],
    ['no X-Request-Id', ['every answer carries X-Request-Id'], without('x-request-id')],
    [
      'a status that nobody knows',
      ['POST /pets answers 201', 'POST /pets keeps', 'GET /pets/{petId} answers 200'],
      rewrite(
        (request, answer) => !isList(request) && success(request, answer),
        (text) => text.replace(/"status":"\w+"/, '"status":"new"'),
      ),
    ],
  ])('names what %s breaks, and is status 1', async (_, promises, breakage) => {
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

  it.each<[string, string, Breakage]>([
    [
      'a Retry-After that is too early',
      '429 carries Retry-After, not before X-RateLimit-Reset, and X-RateLimit-Remaining: 0',
      { answer: ({ status, headers }) => status === 429 && (headers['retry-after'] = '1') },
    ],
    [
      'another code than rate_limit_exceeded',
      'a request over the limit answers 429 rate_limit_exceeded',
      rewrite(
        (_, { status }) => status === 429,
        (text) => text.replace('rate_limit_exceeded', 'too_many_requests'),
      ),
    ],
    [
      'a limit that is announced and not kept',
      'a request over the limit answers 429 rate_limit_exceeded',
      { answer: ({ headers }) => (headers['x-ratelimit-limit'] = '50') },
    ],
  ])('names with --exhaust what %s breaks', async (_, promise, breakage) => {
    const key = await verified.createKey({ plan: 'enterprise', perMinute: 200, perDay: 1_000 });
    const args = ['--base-url', verified.proxy.url, '--key', key, '--exhaust'];
    const { status, broken } = await verified.run(args, breakage);
    expect(broken.map((line) => line.split(': ')[0])).toContain(promise.split(': ')[0]);
    expect(status).toBe(1);
  });
});
