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

  const idsOf = async (table: string) =>
    (await verified.app.database.query<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`)).map(
      ({ id }) => id,
    );

  it('finds every promise kept, with a Free key without waiting for its next minute, and removes the added animals', async () => {
    const before = await idsOf('pets');
    const key = await verified.createKey({ plan: 'free', perMinute: null, perDay: null });
    const { status, lines, broken, all } = await verified.run(['--base-url', `${url}/v1/`, '--key', key]);
    expect({ status, broken }).toEqual({ status: 0, broken: [] });
    const kept = lines.filter((line) => /^ok {3}\S/.test(line)).length;
    expect(kept).toBeGreaterThan(45);
    expect(lines).toContain(`${kept} promises: ${kept} kept, 0 broken. ${requests()} requests to ${url}/v1.`);
    expect(requests()).toBeLessThan(70);
    expect(all).not.toMatch(/Retrying|Skipped/);
    expect(lines).toContain('Added 4 animals, and removed them again.');
    expect(await idsOf('pets')).toEqual(before);
    expect(await verified.app.database.query('SELECT status FROM store_orders')).toEqual([
      { status: 'cancelled' },
    ]);
  });

  it("skips with a buyer's key what only staff may do, says so in one line, and lists the animals that stay", async () => {
    const before = await idsOf('pets');
    const { status, lines, broken, all } = await verified.run([
      '--base-url',
      url,
      '--key',
      await verified.createBuyerKey(),
    ]);
    expect({ status, broken }).toEqual({ status: 0, broken: [] });
    expect(lines.filter((line) => line.includes('pets:manage'))).toEqual([
      expect.stringMatching(/^Skipped, because the key lacks the scope pets:manage: PATCH .*; DELETE .*\.$/),
    ]);
    expect(lines.join()).not.toMatch(/ok {3}DELETE/);
    const named = [...all.matchAll(/(\d+) "/g)].map(([, id]) => id);
    expect(named).toHaveLength(4);
    expect(named).toEqual((await idsOf('pets')).slice(before.length));
  });

  it('prints only one JSON document with --json, with ids as integers', async () => {
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
      skipped: [],
      requests: requests(),
      left: [],
      created: expect.arrayContaining([{ id: expect.any(Number), name: expect.any(String) }]),
    });
  });

  it('reads the key from ANIMAL_STORE_KEY or standard input, hidden from other users', async () => {
    const key = await verified.createKey();
    const fromVariable = await verified.run(['--base-url', url], {}, { ANIMAL_STORE_KEY: key });
    const input = Readable.from([`${key}\n`]) as typeof process.stdin;
    const stdin = jest.spyOn(process, 'stdin', 'get').mockReturnValue(input);
    const another = { ANIMAL_STORE_KEY: 'ask_test_not_this_one' };
    const fromInput = await verified.run(['--base-url', url, '--key', '-'], {}, another);
    stdin.mockRestore();
    expect([fromVariable, fromInput]).toMatchObject([
      { status: 0, broken: [] },
      { status: 0, broken: [] },
    ]);
  });

  it('explains in one sentence how to give a key, and never prints a rejected key', async () => {
    const none = await verified.run(['--base-url', url]);
    expect(none.status).toBe(2);
    expect(none.all).toContain(
      'error: verify needs an API key: set ANIMAL_STORE_KEY, or give --key - and the key on standard input.',
    );
    const rejected = await verified.run(['--base-url', url, '--key', 'ask_test_secret with a space']);
    expect(rejected.status).toBe(2);
    expect(rejected.all).not.toContain('secret');
  });

  it('adds /v1 to a base URL without a path', async () => {
    expect((await verified.run(['--base-url', url, '--key', await verified.createKey()])).status).toBe(0);
  });

  it('uses up the rate limit and checks the 429 with --exhaust', async () => {
    const key = await verified.createKey({ plan: 'enterprise', perMinute: 70, perDay: 1_000 });
    const { status, broken, lines } = await verified.run(['--base-url', url, '--key', key, '--exhaust']);
    expect({ status, broken }).toEqual({ status: 0, broken: [] });
    expect(lines).toContain('ok   a request over the limit answers 429 rate_limit_exceeded');
    expect(requests()).toBeGreaterThan(70);
  });

  it('waits as Retry-After says if the limit is reached, and continues', async () => {
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
        notify: () => undefined,
      },
      () => undefined,
    );
    const broken = verdicts.filter(({ faults }) => faults.length > 0).map(({ promise }) => promise);
    expect(broken).toEqual([]);
    expect(waits.length).toBeGreaterThan(0);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(59);
  });

  it('exits with 1 and one sentence if the limit resets too late, and lists the added animals', async () => {
    // Shortly before midnight UTC the day's limit would reset soon.
    const toNoon = 43_200 - ((verified.app.clock.now() / 1_000) % 86_400);
    verified.app.clock.advance({ seconds: toNoon });
    const key = await verified.createKey({ plan: 'enterprise', perMinute: 100, perDay: 20 });
    const { status, all } = await verified.run(['--base-url', url, '--key', key]);
    expect(status).toBe(1);
    expect(all).toContain('daily_quota_exceeded');
    expect(all).toMatch(/Added, and left there: \d+ "/);
    verified.app.clock.advance({ seconds: -toNoon });
  });

  it('ignores headers of a proxy and members of a later version', async () => {
    const key = await verified.createKey();
    const { status, broken } = await verified.run(['--base-url', url, '--key', key], {
      response: (response, { method, path }) => {
        response.headers['via'] = '1.1 proxy';
        if (method === 'GET' && path === '/v1/pets' && response.status === 200) {
          response.text = response.text.replaceAll('"status"', '"age":3,"status"');
        }
      },
    });
    expect({ status, broken }).toEqual({ status: 0, broken: [] });
  });

  it('never sends the key to another host that Link or a redirect names', async () => {
    const elsewhere = await startBreakingProxy(verified.app.url);
    const key = await verified.createKey();
    const { status, broken } = await verified.run(['--base-url', url, '--key', key], {
      response: (response, { path }) => {
        const { link } = response.headers;
        if (typeof link === 'string')
          response.headers['link'] = link.replaceAll('</v1', `<${elsewhere.url}/v1`);
        if (path !== '/v1/nothing-here') return;
        response.status = 307;
        response.headers['location'] = `${elsewhere.url}/v1/pets`;
      },
    });
    await elsewhere.close();
    expect(elsewhere.requests).toBe(0);
    expect({ status, broken }).toEqual({
      status: 1,
      broken: [expect.stringMatching(/^an unknown address answers 404 .* got 307 /)],
    });
  });

  it('exits with 1 and one sentence if the key is rejected or the deployment is unreachable', async () => {
    const rejected = await verified.run(['--base-url', url, '--key', 'ask_test_unknown']);
    expect(rejected).toMatchObject({ status: 1, out: '' });
    expect(rejected.all.trim()).toMatch(/^The deployment refuses the key \(401 .*invalid_api_key.*$/);
    const gone = await startBreakingProxy(verified.app.url);
    await gone.close();
    const unreachable = await verified.run(['--base-url', gone.url, '--key', 'ask_test_unknown']);
    expect(unreachable).toMatchObject({ status: 1, out: '' });
    expect(unreachable.all.trim()).toMatch(/^http:\S+\/v1 gives no answer \(connect ECONNREFUSED .*$/);
  });
});
