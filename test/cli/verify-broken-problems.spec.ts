import { PROBLEM } from '../problems/support/problem';
import type { Breakage } from './support/breaking-proxy';
import { startVerified, type Verified } from './support/verified';

/** Replaces the bodies of problem details. */
const rewriteProblem = (change: (text: string) => string): Breakage => ({
  response: (response) => {
    const isProblem = String(response.headers['content-type']).startsWith(PROBLEM);
    if (isProblem) response.text = change(response.text);
  },
});

describe('cli verify of a deployment with broken problem details', () => {
  let verified: Verified;
  beforeAll(async () => {
    verified = await startVerified();
  });
  beforeEach(() => verified.syncClock());
  afterAll(() => verified.close());

  it.each<[breakage: string, promises: string[], Breakage]>([
    [
      'no problem details',
      [
        'an error is application/problem+json',
        'problem details of validation_failed',
        'every answer is application/json',
      ],
      { headers: (headers) => (headers['accept'] = '*/*') },
    ],
    [
      'problem details without being asked for',
      ['every answer is application/json'],
      { headers: (headers, { path }) => path === '/v1/pets/rex' && (headers['accept'] = PROBLEM) },
    ],
    [
      'problem details of another type',
      ['an error is application/problem+json'],
      rewriteProblem((text) => text.replace('/problems/missing_api_key', '/problems/missing')),
    ],
    [
      'problem details of another request',
      ['an error is application/problem+json'],
      rewriteProblem((text) => text.replace('urn:request:', 'urn:request:0')),
    ],
    [
      'problem details with another code',
      ['an error is application/problem+json'],
      rewriteProblem((text) => text.replace('"code":"validation_failed"', '"code":"bad_request"')),
    ],
    [
      'problem details that name one of two fields',
      ['problem details of validation_failed'],
      rewriteProblem((text) => text.replace('#/name', '#')),
    ],
    [
      'problem details without a title',
      ['every error has a body of exactly code, message and status'],
      rewriteProblem((text) => text.replace(/"title":"[^"]*",/, '')),
    ],
  ])('exits with 1 and names the broken promises: %s', async (_, promises, breakage) => {
    const args = ['--base-url', verified.proxy.url, '--key', await verified.createKey()];
    const { status, broken } = await verified.run(args, breakage);
    expect(broken).toEqual(promises.map((promise) => expect.stringContaining(promise)));
    for (const line of broken) expect(line).toMatch(/: .*expected .*, got \S/);
    expect(status).toBe(1);
  });
});
