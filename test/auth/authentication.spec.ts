import { crc32 } from 'node:zlib';
import { prefixOf } from '../../src/auth/keys/secret';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { sendRaw } from '../support/http';
import { withoutTable } from '../support/without-table';

const DAY_SECONDS = 86_400;

describe('bearer authentication', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const withHeader = (authorization?: string) =>
    app.get('/v1/pets', { key: undefined, headers: authorization === undefined ? {} : { authorization } });
  const REALM = 'Bearer realm="animal-store"';
  it('200 with a key, in any letter case of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  ']) {
      expect((await withHeader(`${scheme} ${app.key}`)).status).toBe(200);
    }
  });

  it.each([undefined, '', 'Basic dXNlcjpwYXNz', 'ApiKey x', 'Bearerx', 'Negotiate'])(
    '401 missing_api_key for Authorization: %s',
    async (header) => {
      const response = await withHeader(header);
      expectError(response, 401, 'missing_api_key');
      expect(response.headers['www-authenticate']).toBe(REALM);
    },
  );

  it.each([
    'Bearer',
    'bearer x',
    'Bearer a b',
    'Bearer Bearer',
    'Bearer ask_test_',
    `Bearer ${'x'.repeat(5_000)}`,
  ])('401 invalid_api_key for Authorization: %.30s', async (header) => {
    const response = await withHeader(header);
    expectError(response, 401, 'invalid_api_key');
    expect(response.headers['www-authenticate']).toMatch(
      /^Bearer realm="animal-store", error="invalid_token", error_description="[^"]+"$/,
    );
  });

  it('401 invalid_api_key for two Authorization headers, also of the same key, an empty one, or after 190 others; 431 after 2,100', async () => {
    const own = `Bearer ${app.key}`;
    const pairs = [own, 'Basic x', ''].flatMap((other) => [
      [own, other],
      [other, own],
    ]);
    const linesOf = (values: readonly string[], between = 0) => {
      const others = Array.from({ length: between }, (_, at) => `a${at}:\r\n`).join('');
      return values.map((value) => `Authorization: ${value}\r\n`).join(others);
    };
    const rows: [lines: string, status: number, code: string][] = [
      ...pairs.map((pair) => [linesOf(pair), 401, 'invalid_api_key'] as [string, number, string]),
      [linesOf([own, 'Basic x'], 190), 401, 'invalid_api_key'],
      [linesOf([own, 'Basic x'], 2_100), 431, 'headers_too_large'],
      [linesOf([`Bearer \u00a0${app.key}`]), 401, 'invalid_api_key'],
    ];
    for (const [lines, status, code] of rows) {
      const request = `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${lines}Connection: close\r\n\r\n`;
      const response = await sendRaw(app.url, Buffer.from(request, 'latin1'));
      expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*"code":"${code}"`));
    }
  });

  it('401 invalid_api_key: no query for a wrong checksum, length or character; a query for a made-up key', async () => {
    const random = app.key.slice('ask_test_'.length, -6);
    const last = app.key.at(-1) === 'a' ? 'b' : 'a';
    const first = random.startsWith('a') ? 'b' : 'a';
    const withChecksum = (text: string) => `ask_test_${text}${base62(crc32(text))}`;
    const wrong = [
      `${app.key.slice(0, -1)}${last}`,
      app.key.replace(random, random.replace(/^./, first)),
      app.key.slice(0, -1),
      `${app.key}0`,
      app.key.toLowerCase(),
      app.key.toUpperCase(),
      withChecksum('-'.repeat(30)),
    ];
    const madeUp = withChecksum('A'.repeat(30));
    await withoutTable(app.database, 'api_keys', async () => {
      for (const key of wrong) expectError(await app.get('/v1/pets', { key }), 401, 'invalid_api_key');
      expectError(await app.get('/v1/pets', { key: madeUp }), 500, 'internal_error');
    });
    expectError(await app.get('/v1/pets', { key: madeUp }), 401, 'invalid_api_key');
  });

  it.each([1, 3_600])(
    '401 revoked_api_key if the clock was set back by %i s after the key was cached',
    async (seconds) => {
      const { id, key } = await app.createKey();
      expect((await app.get('/v1/pets', { key })).status).toBe(200);
      await app.database.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id]);
      app.clock.advance({ seconds: -seconds });
      const response = await app.get('/v1/pets', { key });
      app.clock.advance({ seconds });
      expectError(response, 401, 'revoked_api_key');
    },
  );

  it('a cached key costs no query', async () => {
    const [known, unknown] = [await app.createKey(), await app.createKey()];
    const statusOf = async ({ key }: { key: string }) => (await app.get('/v1/pets?limit=1', { key })).status;
    await statusOf(known);
    app.clock.advance({ seconds: 4 });
    await withoutTable(app.database, 'api_keys', async () => {
      expect([await statusOf(known), await statusOf(unknown)]).toEqual([200, 500]);
    });
    expect(await statusOf(unknown)).toBe(200);
  });

  describe('the last use of a key', () => {
    let id: string;
    let key: string;
    beforeAll(() => {
      // The next full minute: other specs have moved the clock.
      app.clock.advance({ seconds: 60 - ((app.clock.now() / 1_000) % 60) });
    });
    beforeEach(async () => {
      ({ id, key } = await app.createKey({ expiresAt: new Date(app.clock.now() + DAY_SECONDS * 1_000) }));
    });

    /** Returns the stored time in milliseconds; undefined if the key was never used. */
    async function written(): Promise<number | undefined> {
      await app.runDueWork();
      const { lastUsedAt } = (await app.get(`/v1/keys/${id}`)).json;
      return lastUsedAt === null ? undefined : Date.parse(lastUsedAt);
    }
    async function useAfter(seconds: number): Promise<number | undefined> {
      app.clock.advance({ seconds });
      expect((await app.get('/v1/pets', { key })).status).toBe(200);
      return written();
    }

    it('is written once a minute, and again if the database failed', async () => {
      const minute = app.clock.now();
      expect([await useAfter(0), await useAfter(59)]).toEqual([minute, minute]);
      await withoutTable(app.database, 'api_keys', async () => {
        app.clock.advance({ seconds: 1 });
        await app.get('/v1/pets', { key });
        await expect(app.runDueWork()).rejects.toThrow('api_keys');
      });
      expect(await written()).toBe(minute + 60_000);
      // A clock that was set back does not move it to an earlier time.
      expect(await useAfter(-60)).toBe(minute + 60_000);
    });

    it('does not change with a rejected request', async () => {
      app.clock.advance({ seconds: DAY_SECONDS });
      expectError(await app.get('/v1/pets', { key }), 401, 'expired_api_key');
      expect(await written()).toBeUndefined();
    });
  });

  it('the database stores the SHA-256 of a secret, not the secret', async () => {
    const rows = await app.database.query<{ row: string }>('SELECT k::text AS row FROM api_keys k');
    const hashes = await app.database.query<{ hash: string }>(
      `SELECT encode(secret_hash, 'hex') AS hash FROM api_keys WHERE secret_hash = sha256($1::bytea)`,
      [Buffer.from(app.key)],
    );
    expect(hashes).toHaveLength(1);
    for (const { row } of rows) expect(row).not.toContain(app.key.slice('ask_test_'.length, -4));
  });

  it('a key of production begins with ask_live_, one of another deployment with ask_test_; neither is valid in the other', async () => {
    expect([prefixOf('staging'), prefixOf('development')]).toEqual(['ask_test_', 'ask_test_']);
    const live = await startApp({ deployment: 'production' }, { beside: app });
    for (const [each, prefix, otherPrefix] of [
      [app, 'ask_test_', 'ask_live_'],
      [live, 'ask_live_', 'ask_test_'],
    ] as const) {
      const { key } = each;
      expect(key).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{36}$`));
      const body = key.slice(prefix.length);
      expect(body.slice(30)).toBe(base62(crc32(body.slice(0, 30))));
      expect((await each.get('/v1/pets')).status).toBe(200);
      const otherKind = key.replace(prefix, otherPrefix);
      expectError(await each.get('/v1/pets', { key: otherKind }), 401, 'invalid_api_key');
    }
    expectError(await app.get('/v1/pets', { key: live.key }), 401, 'invalid_api_key');
    await live.close();
  });
});

/** Returns six base62 digits, by code that is independent of the service. */
function base62(value: number): string {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  return [5, 4, 3, 2, 1, 0].map((place) => alphabet[Math.floor(value / 62 ** place) % 62]).join('');
}
