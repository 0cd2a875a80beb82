import { Readable } from 'node:stream';
import { verify } from '../../src/cli/verify/verify';
import { startBreakingProxy } from './support/breaking-proxy';
import { startVerified, type Verified } from './support/verified';

describe('cli verify', () => {
  let verified: Verified;
  let url: string;
  beforeAll(async () => {
    verified = await startVerified();
    url = verified.proxy.url;
  });
  afterAll(() => verified.close());

  const requests = () => verified.proxy.requests;

  it('finds every promise kept by the service, with a Free key in fewer than 50 requests, and names what it added', async () => {
    const { app } = verified;
    const before = await app.database.query('SELECT id FROM pets');
    const key = await verified.createKey({ plan: 'free', perMinute: null, perDay: null });
    const { status, lines, broken, all } = await verified.run(['--base-url', `${url}/v1/`, '--key', key]);
    expect({ status, broken }).toEqual({ status: 0, broken: [] });
    const kept = lines.filter((line) => /^ok {3}\S/.test(line)).length;
    expect(kept).toBeGreaterThan(30);
    expect(lines).toContain(`${kept} promises: ${kept} kept, 0 broken. ${requests()} requests to ${url}/v1.`);
    expect(requests()).toBeLessThan(50);
    const after = await app.database.query<{ id: string }>('SELECT id FROM pets ORDER BY id');
    const named = [...all.matchAll(/(\d+) "/g)].map(([, id]) => id);
    expect(after.length).toBeGreaterThan(before.length);
    expect(named).toEqual(after.slice(before.length).map(({ id }) => id));
    expect(await app.database.query('SELECT id FROM store_orders')).toEqual([]);
  });

  it('--json prints one document, with ids as integers, and nothing else', async () => {
    const { status, out, all } = await verified.run([
      '--base-url',
      url,
      '--key',
      await verified.createKey(),
      '--json',
    ]);
    expect({ status, lines: all.trim().split('\n').length, error: all.replace(out, '') }).toEqual({
      status: 0,
      lines: 1,
      error: '',
    });
    expect(JSON.parse(out)).toEqual({
      baseUrl: `${url}/v1`,
      verdicts: expect.arrayContaining([
        { promise: 'GET /pets without a key answers 401 missing_api_key', faults: [] },
      ]),
      requests: requests(),
      created: expect.arrayContaining([{ id: expect.any(Number), name: expect.any(String) }]),
    });
  });

  it('takes the key from ANIMAL_STORE_KEY or from standard input, where no other user can see it', async () => {
    const key = await verified.createKey();
    process.env['ANIMAL_STORE_KEY'] = key;
    const fromVariable = await verified.run(['--base-url', url]);
    process.env['ANIMAL_STORE_KEY'] = 'ask_test_not_this_one';
    const input = Readable.from([`${key}\n`]) as typeof process.stdin;
    const stdin = jest.spyOn(process, 'stdin', 'get').mockReturnValue(input);
    const fromInput = await verified.run(['--base-url', url, '--key', '-']);
    stdin.mockRestore();
    delete process.env['ANIMAL_STORE_KEY'];
    expect([fromVariable, fromInput]).toMatchObject([
      { status: 0, broken: [] },
      { status: 0, broken: [] },
    ]);
  });

  it('says in one sentence how to give a key, and repeats none that it rejects', async () => {
    const none = await verified.run(['--base-url', url]);
    expect(none.status).toBe(2);
    expect(none.all).toContain(
      'error: verify needs an API key: set ANIMAL_STORE_KEY, or give --key - and the key on standard input.',
    );
    const rejected = await verified.run(['--base-url', url, '--key', 'ask_test_secret with a space']);
    expect(rejected.status).toBe(2);
    expect(rejected.all).not.toContain('secret');
  });

  it('the address of a server alone means its /v1', async () => {
    expect((await verified.run(['--base-url', url, '--key', await verified.createKey()])).status).toBe(0);
  });

  it('--exhaust spends the minute and sees the 429', async () => {
    const key = await verified.createKey({ plan: 'enterprise', perMinute: 70, perDay: 1_000 });
    const { status, broken, lines } = await verified.run(['--base-url', url, '--key', key, '--exhaust']);
    expect({ status, broken }).toEqual({ status: 0, broken: [] });
    expect(lines).toContain('ok   a request over the limit answers 429 rate_limit_exceeded');
    expect(requests()).toBeGreaterThan(70);
  });

  it('waits as Retry-After says when the window is spent, and goes on', async () => {
    const key = await verified.createKey({ plan: 'enterprise', perMinute: 20, perDay: 1_000 });
    const { app, proxy } = verified;
    const waits: number[] = [];
    proxy.breakage = {};
    const { verdicts } = await verify(
      { baseUrl: `${url}/v1`, key, exhaust: false },
      {
        now: () => app.clock.now(),
        sleep: async (milliseconds) => {
          waits.push(milliseconds / 1_000);
          app.clock.advance({ seconds: milliseconds / 1_000 });
        },
        tell: () => undefined,
      },
      () => undefined,
    );
    const broken = verdicts.filter(({ faults }) => faults.length > 0).map(({ promise }) => promise);
    expect(broken).toEqual([]);
    expect(waits.length).toBeGreaterThan(0);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(59);
  });

  it('stops with status 1 and one sentence where the key may not come back soon, and says what was added', async () => {
    // Shortly before midnight UTC it would come back soon.
    const toNoon = 43_200 - ((verified.app.clock.now() / 1_000) % 86_400);
    verified.app.clock.advance({ seconds: toNoon });
    const key = await verified.createKey({ plan: 'enterprise', perMinute: 100, perDay: 20 });
    const { status, all } = await verified.run(['--base-url', url, '--key', key]);
    expect(status).toBe(1);
    expect(all).toContain('daily_quota_exceeded');
    expect(all).toMatch(/Added, and left there: \d+ "/);
    verified.app.clock.advance({ seconds: -toNoon });
  });

  it('never takes the key to another host, wherever Link or a redirect points', async () => {
    const elsewhere = await startBreakingProxy(verified.app.url);
    const key = await verified.createKey();
    const { status, broken } = await verified.run(['--base-url', url, '--key', key], {
      answer: (answer, { path }) => {
        const { link } = answer.headers;
        if (typeof link === 'string')
          answer.headers['link'] = link.replaceAll('</v1', `<${elsewhere.url}/v1`);
        if (path !== '/v1/nothing-here') return;
        answer.status = 307;
        answer.headers['location'] = `${elsewhere.url}/v1/pets`;
      },
    });
    await elsewhere.close();
    expect(elsewhere.requests).toBe(0);
    expect({ status, broken }).toEqual({
      status: 1,
      broken: [expect.stringMatching(/^an unknown address answers 404 .* got 307 /)],
    });
  });

  it('a key that is refused, or a deployment that does not answer, is status 1 and one sentence', async () => {
    const refused = await verified.run(['--base-url', url, '--key', 'ask_test_nobody']);
    expect(refused).toMatchObject({ status: 1, out: '' });
    expect(refused.all.trim()).toMatch(/^The deployment refuses the key \(401 .*invalid_api_key.*$/);
    const gone = await startBreakingProxy(verified.app.url);
    await gone.close();
    const away = await verified.run(['--base-url', gone.url, '--key', 'ask_test_nobody']);
    expect(away).toMatchObject({ status: 1, out: '' });
    expect(away.all.trim()).toMatch(/^http:\S+\/v1 gives no answer \(connect ECONNREFUSED .*$/);
  });
});
