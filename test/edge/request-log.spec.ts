import { RejectionLog } from '../../src/rate-limit/rejection-log';
import { startApp, type TestApp } from '../support/app';
import { until } from '../support/until';

describe('the request log', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const lineOf = async (id: string): Promise<Record<string, unknown>> => {
    const line = app.log.find((each) => each.includes(`"reqId":"${id}"`) && each.includes('"status"'));
    return JSON.parse(line ?? '{}') as Record<string, unknown>;
  };

  it('has one JSON line per request, with its id, route, status, duration and account', async () => {
    await app.get('/v1/pets/7?secret=1', { headers: { 'x-request-id': 'one' } });
    expect(app.log.filter((line) => line.includes('"reqId":"one"'))).toHaveLength(1);
    expect(await lineOf('one')).toMatchObject({
      method: 'GET',
      path: '/v1/pets/7',
      route: '/v1/pets/:petId',
      status: 404,
      durationMs: expect.any(Number),
      account: expect.stringContaining('account'),
    });
    expect(app.log.join('')).not.toContain('secret');
  });

  it('has a probe at the level debug, unless its response is not 200', async () => {
    await app.get('/readyz', { headers: { 'x-request-id': 'probe' } });
    await app.get('/readyz/', { headers: { 'x-request-id': 'no-probe' } });
    expect(await lineOf('probe')).toMatchObject({ status: 200, level: 20 });
    expect(await lineOf('no-probe')).toMatchObject({ status: 404, level: 30 });
  });

  it('has no account if the request has no valid key', async () => {
    await app.get('/v1/nothing', { key: undefined, headers: { 'x-request-id': 'two' } });
    const line = await lineOf('two');
    expect(line).toMatchObject({ status: 401, path: '/v1/nothing' });
    expect(line).not.toHaveProperty('account');
  });

  it('has the type and stack of a failure, but no data of the client', async () => {
    await app.database.query('ALTER TABLE pets RENAME TO lost');
    await app.post('/v1/pets', { name: 'Confidential', categoryId: 1 });
    await app.database.query('ALTER TABLE lost RENAME TO pets');
    const failure = app.log.find((line) => line.includes('request failed'));
    expect(JSON.parse(failure ?? '{}').err).toMatchObject({
      type: 'QueryFailedError',
      stack: expect.stringContaining('pets.repository'),
    });
    expect(app.log.join('')).not.toContain('Confidential');
  });

  it('contains no key, in any part of a request that contains one', async () => {
    const { key } = app;
    await app.get(`/v1/pets/${key}`);
    await app.get(`/v1/pets?key=${key}&cursor=${key}`);
    await app.get(`/${key}`, {
      headers: { 'x-request-id': key, referer: `http://x/${key}`, 'user-agent': key },
    });
    await app.post('/v1/pets', `{"name":"${key}","categoryId":"${key}"}`);
    await app.post('/v1/pets', key);
    await app.post('/v1/pets', `{"name":"${key}","categoryId":1}`);
    await app.get('/v1/pets', { headers: { authorization: [`Bearer ${key}`] } });
    const encode = (text: string) =>
      text.replaceAll(/[a-z_]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
    await app.get(`/v1/pets/${key.replaceAll('_', '%5F')}`);
    await app.get(`/v1/pets/%61${key.slice(1)}`);
    await app.get(`/v1/pets/${encode(key)}`);
    await app.get(`/${encode(encode(key))}`);
    await app.get(`/v1/pets/${key.slice(0, 20)}%${key.charCodeAt(20).toString(16)}${key.slice(21)}`);
    expect(app.log.length).toBeGreaterThan(11);
    const log = app.log
      .join('')
      .replaceAll(/%(?:25)*([0-9a-f]{2})/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
    const leak = log.split('\n').find((line) => line.includes(key.slice(-8)));
    expect(leak).toBeUndefined();
    expect(app.log.join('')).not.toContain(key.slice('ask_test_'.length));
    expect(app.log.join('')).toContain('ask_test_…');
  });

  it('has the first 256 characters of a longer path, its length, and no part of a key at the end', async () => {
    const request = { key: undefined, headers: { 'x-request-id': 'long' } };
    await app.get(`/livez/${'%20'.repeat(2_000)}`, request);
    expect(await lineOf('long')).toMatchObject({
      path: `/livez/${'%20'.repeat(83)}`,
      pathLength: '/livez/'.length + 6_000,
    });
    await app.get(`/${'x'.repeat(255)}`, { key: undefined, headers: { 'x-request-id': 'short' } });
    expect(await lineOf('short')).toMatchObject({ path: `/${'x'.repeat(255)}` });
    expect(await lineOf('short')).not.toHaveProperty('pathLength');
    for (let length = 235; length < 256; length += 1) {
      const id = `cut-${length}`;
      const path = `/${'x'.repeat(length)}${app.key.replace('a', '%61')}`;
      await app.get(path, { key: undefined, headers: { 'x-request-id': id } });
      const line = await lineOf(id);
      expect(`/${'x'.repeat(length)}ask_test_…`).toContain(String(line['path']));
      expect(line['pathLength']).toBe(path.length);
    }
  });

  it('has no control character, in any encoding of the client', async () => {
    await app.get('/v1/ask_test_/%1b%5b31m%c2%9b31m%7f%250a', { headers: { 'x-request-id': 'escaped' } });
    expect(app.log.join('').replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(await lineOf('escaped')).toMatchObject({
      path: '/v1/ask_test_/\u001b[31m\u00c2\u009b31m\u007f\n',
    });
  });
});

describe('the log of 429 responses', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ rateLimitAnonymousPerMinute: 1, rateLimitBanAfter: 2, trustProxy: ['127.0.0.1'] });
  });
  afterAll(() => app.close());

  /** The log lines of 429 responses that contain one of these names. */
  const rejections = (...names: string[]) =>
    app.log
      .map((line) => JSON.parse(line))
      .filter((line) => line.status === 429 && names.some((name) => Object.values(line).includes(name)));
  const from = (ip: string) => app.get('/v1/pets', { key: undefined, headers: { 'x-forwarded-for': ip } });

  it('counts 1,000 owners separately; all others share a line', async () => {
    const log = app.nest.get(RejectionLog, { strict: false });
    const window = { limit: 1, remaining: 0, resetAt: app.clock.now() + 60_000 };
    const decisionOf = (at: number) => ({
      verdict: at % 2 === 0 ? ('limited' as const) : ('banned' as const),
      windows: { minute: window, day: undefined },
      now: app.clock.now(),
    });
    const request = { ip: '192.0.2.3', server: { log: app.nest.getHttpAdapter().getInstance().log } };
    const count = (at: number) => log.count(`ip:${at}`, request as never, decisionOf(at));
    for (let at = 0; at <= 1_000; at += 1) expect(count(at)).toBe(false);
    for (let at = 1_001; at <= 1_100; at += 1) expect(count(at)).toBe(true);
    app.clock.advance({ seconds: 60 });
    await until(() => rejections('others').length === 1);
    expect(rejections('others')).toMatchObject([{ owners: 'others', rejected: 100 }]);
  });

  it('has a line for the first 429 of an address in a window, and a line with the number of the others', async () => {
    const addresses = ['192.0.2.1', '192.0.2.2'];
    for (let at = 0; at < 5; at += 1) await from('192.0.2.1');
    for (let at = 0; at < 3; at += 1) await from('192.0.2.2');
    expect(rejections(...addresses)).toMatchObject([
      { msg: 'request', ip: '192.0.2.1' },
      { msg: 'request', ip: '192.0.2.2' },
    ]);
    app.clock.advance({ seconds: 60 });
    await until(() => rejections(...addresses).length === 4);
    const sum = { msg: 'requests rejected by the rate limit', status: 429, verdict: 'limited' };
    expect(rejections(...addresses).slice(2)).toMatchObject([
      { ...sum, ip: '192.0.2.1', rejected: 3 },
      { ...sum, ip: '192.0.2.2', rejected: 1 },
    ]);
    for (let at = 0; at < 2; at += 1) await from('192.0.2.1');
    expect(rejections(...addresses).slice(4)).toMatchObject([{ msg: 'request', ip: '192.0.2.1' }]);
  });

  it('has a line for the first 429 of each key of an account', async () => {
    const choice = { plan: 'enterprise', perMinute: 1, perDay: 9 } as const;
    const keys = [
      await app.createKey({ account: 'two tills', choice }),
      await app.createKey({ account: 'two tills', choice: undefined }),
    ];
    for (const { key } of [...keys, ...keys]) await app.get('/v1/pets', { key });
    expect(rejections('two tills').map(({ key }) => key)).toEqual([keys[1]!.id, keys[0]!.id]);
  });

  it('has these lines for a used-up day in each minute, for a ban, and at a stop', async () => {
    const { id, key } = await app.createKey({
      account: 'greedy',
      choice: { plan: 'enterprise', perMinute: 9, perDay: 1 },
    });
    const send = async (count: number) => {
      for (let at = 0; at < count; at += 1) await app.get('/v1/pets', { key });
    };
    const line = { msg: 'request', key: id, account: 'greedy' };
    const sum = { msg: 'requests rejected by the rate limit', key: id, account: 'greedy' };
    await send(4);
    app.clock.advance({ seconds: 60 });
    await send(1);
    app.clock.advance({ seconds: 2 });
    await send(3);
    await app.nest.close();
    expect(rejections(id)).toMatchObject([
      line,
      { ...sum, verdict: 'limited', rejected: 2 },
      line,
      line,
      { ...sum, verdict: 'banned', rejected: 2 },
    ]);
  });
});
