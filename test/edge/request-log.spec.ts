import { startApp, type TestApp } from '../support/app';
import { withoutTable } from '../support/without-table';

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ rateLimitAnonymousPerMinute: 1, rateLimitBanAfter: 2, trustProxy: ['127.0.0.1'] });
});

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

  it('has the code of an error, and the account and id of a key that is expired or revoked', async () => {
    for (const [change, code] of [
      ['expires_at = to_timestamp(0)', 'expired_api_key'],
      ['revoked_at = now()', 'revoked_api_key'],
    ] as const) {
      const { id, key } = await app.createKey({ account: 'formerly' });
      await app.database.query(`UPDATE api_keys SET ${change} WHERE id = $1`, [id]);
      app.clock.advance({ seconds: 60 });
      await app.get('/v1/pets', { key, headers: { 'x-request-id': code } });
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

  it('has a path up to 256 characters or the first percent sign, and no part of a key at the end', async () => {
    const get = (path: string, id: string) => app.get(path, { headers: { 'x-request-id': id } });
    await get(`/v1/${'x'.repeat(2_000)}`, 'long');
    expect(await lineOf('long')).toMatchObject({ path: `/v1/${'x'.repeat(252)}` });
    await get('/v1/pets/a%1bb', 'encoded');
    expect(await lineOf('encoded')).toMatchObject({ path: '/v1/pets/a%…' });
    for (let length = 232; length < 253; length += 1) {
      await get(`/v1/${'x'.repeat(length)}${app.key}`, `cut-${length}`);
      const { path } = await lineOf(`cut-${length}`);
      expect(`/v1/${'x'.repeat(length)}ask_test_…`).toContain(String(path));
    }
  });

  it('has at most ten lines a second for requests that no limit admits', async () => {
    const before = app.log.length;
    const begin = performance.now();
    await Promise.all(Array.from({ length: 200 }, () => app.get('/nothing')));
    const seconds = 2 + Math.floor((performance.now() - begin) / 1_000);
    expect(app.log.length - before).toBeLessThanOrEqual(10 * seconds);
  });
});
