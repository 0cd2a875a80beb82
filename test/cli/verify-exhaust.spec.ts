import type { Breakage } from './support/breaking-proxy';
import { startVerified, type Verified } from './support/verified';

describe('cli verify --exhaust of a broken deployment', () => {
  let verified: Verified;
  beforeAll(async () => {
    verified = await startVerified();
  });
  // The service's clock stands still; on a busy machine the rows take longer than a minute.
  beforeEach(() => verified.syncClock());
  afterAll(() => verified.close());

  it.each<[string, string, Breakage]>([
    [
      'a Retry-After that is too early',
      '429 carries Retry-After, not before X-RateLimit-Reset, and X-RateLimit-Remaining: 0',
      { response: ({ status, headers }) => status === 429 && (headers['retry-after'] = '1') },
    ],
    [
      'another code than rate_limit_exceeded',
      'a request over the limit answers 429 rate_limit_exceeded',
      {
        response: (response) => {
          if (response.status === 429)
            response.text = response.text.replace('rate_limit_exceeded', 'too_many_requests');
        },
      },
    ],
    [
      'a limit that is reported but not enforced',
      'a request over the limit answers 429 rate_limit_exceeded',
      { response: ({ headers }) => (headers['x-ratelimit-limit'] = '50') },
    ],
    [
      'a key that cannot be read any more',
      'GET /key answers 200 while the limit is used up',
      { response: (response, { path }) => path === '/v1/key' && (response.status = 503) },
    ],
  ])('exits with 1 and names the broken promise with --exhaust: %s', async (_, promise, breakage) => {
    const key = await verified.createKey({ plan: 'enterprise', perMinute: 200, perDay: 1_000 });
    const args = ['--base-url', verified.proxy.url, '--key', key, '--exhaust'];
    const { status, broken } = await verified.run(args, breakage);
    expect(broken.map((line) => line.split(': ')[0])).toContain(promise.split(': ')[0]);
    expect(status).toBe(1);
  });
});
