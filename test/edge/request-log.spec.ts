import { startApp, type TestApp } from '../support/app';
import { sendRaw } from '../support/http';
import { withoutTable } from '../support/without-table';

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ rateLimitAnonymousPerMinute: 1, rateLimitBanAfter: 2, trustProxy: ['127.0.0.1'] });
});
// Some lines are written once a minute.
beforeEach(() => app.clock.advance({ seconds: 60 }));

describe('the request log', () => {
  const lineOf = async (id: string): Promise<Record<string, unknown>> => {
    const line = app.log.find((each) => each.includes(`"reqId":"${id}"`) && each.includes('"status"'));
    return JSON.parse(line ?? '{}') as Record<string, unknown>;
  };

  it('has one JSON line per request, with its id, route, status, duration, and the account of a valid key', async () => {
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
    await app.get('/v1/nothing', { key: undefined, headers: { 'x-request-id': 'two' } });
    const { status, account } = await lineOf('two');
    expect([status, account]).toEqual([401, undefined]);
  });

  it('has the code of an error, and the account and id of a key that is expired, revoked or of another deployment', async () => {
    for (const [change, code] of [
      ['expires_at = to_timestamp(0)', 'expired_api_key'],
      ['revoked_at = now()', 'revoked_api_key'],
      ["secret_hash = sha256(('ask_live_' || right($2, 36))::bytea)", 'invalid_api_key'],
    ] as const) {
      const { id, key } = await app.createKey({ account: 'formerly' });
      await app.database.query(`UPDATE api_keys SET ${change} WHERE id = $1 AND length($2) > 0`, [id, key]);
      const sent = code === 'invalid_api_key' ? key.replace('ask_test_', 'ask_live_') : key;
      app.clock.advance({ seconds: 60 });
      const response = await app.get('/v1/pets', { key: sent, headers: { 'x-request-id': code } });
      expect(response.status).toBe(401);
      expect(await lineOf(code)).toMatchObject({ status: 401, code, account: 'formerly', key: id });
    }
  });

  it('has the type and stack of a failure, but no data of the client', async () => {
    const pet = { name: 'Confidential', categoryId: 1 };
    await withoutTable(app.database, 'pets', () => app.post('/v1/pets', pet));
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
    const get = (path: string, id: string) => app.get(path, { headers: { 'x-request-id': id } });
    await get(`/v1/livez/${'%20'.repeat(2_000)}`, 'long');
    expect(await lineOf('long')).toMatchObject({
      path: `/v1/livez/${'%20'.repeat(82)}`,
      pathLength: '/v1/livez/'.length + 6_000,
    });
    await get(`/v1/${'x'.repeat(252)}`, 'short');
    expect(await lineOf('short')).toMatchObject({ path: `/v1/${'x'.repeat(252)}` });
    expect(await lineOf('short')).not.toHaveProperty('pathLength');
    for (let length = 232; length < 253; length += 1) {
      const id = `cut-${length}`;
      const path = `/v1/${'x'.repeat(length)}${app.key.replace('a', '%61')}`;
      await get(path, id);
      const line = await lineOf(id);
      expect(`/v1/${'x'.repeat(length)}ask_test_…`).toContain(String(line['path']));
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

describe('the log of requests that no window admits', () => {
  const linesOf = (...owners: string[]) =>
    app.log
      .map((line) => JSON.parse(line))
      .filter((line) => line.msg === 'request')
      .filter((line) => owners.some((owner) => Object.values(line).includes(owner)));
  const from = (ip: string, path = '/v1/pets') =>
    app.get(path, { key: undefined, headers: { 'x-forwarded-for': ip } });

  it('has a line for the first 429 of an address in each minute; a customer has a whole /64', async () => {
    const rejections = () =>
      linesOf('192.0.2.1', '2001:db8::1', '2001:db8::2').filter(({ status }) => status === 429);
    const addresses = ['192.0.2.1', '192.0.2.1', '192.0.2.1', '2001:db8::1', '2001:db8::1', '2001:db8::2'];
    for (const address of addresses) await from(address);
    expect(rejections().map(({ ip }) => ip)).toEqual(['192.0.2.1', '2001:db8::1']);
    app.clock.advance({ seconds: 60 });
    for (const address of addresses) await from(address);
    expect(rejections()).toHaveLength(4);
  });

  it('has a line for each key, and for each code or path', async () => {
    const choice = { plan: 'enterprise', perMinute: 1, perDay: 1 } as const;
    const keys = [
      await app.createKey({ account: 'two tills', choice }),
      await app.createKey({ account: 'two tills', choice: undefined }),
    ];
    for (let times = 0; times < 4; times += 1)
      for (const path of ['/v1/pets', '/v1/key', '/v1/nothing'])
        for (const { key } of keys) await app.get(path, { key });
    const [first, second] = keys.map(({ id }) => linesOf(id).map(({ code, route }) => code ?? route));
    expect(first).toEqual(['/v1/pets', '/v1/key', 'daily_quota_exceeded']);
    expect(second).toEqual(['daily_quota_exceeded', '/v1/key']);
  });

  it('has a line for an address on each path outside /v1, by status', async () => {
    const ip = '192.0.2.9';
    for (const path of ['/openapi.json', '/nothing', '/else'])
      for (let times = 0; times < 3; times += 1) await from(ip, path);
    expect(linesOf(ip).map(({ status, path }) => [status, path])).toEqual([
      [200, '/openapi.json'],
      [404, '/nothing'],
    ]);
  });

  it('has at most 1,000 such lines in a minute', async () => {
    const before = app.log.length;
    const request = (at: number) =>
      `GET /nothing HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.51.${at >> 8}.${at & 255}\r\n\r\n`;
    // A connection has at most 64 requests at a time; the last one closes it.
    for (let at = 0; at < 1_152; at += 64)
      await sendRaw(app.url, Array.from({ length: 64 }, (_, more) => request(at + more)).join(''));
    expect(app.log.length - before).toBe(1_000);
  });
});
