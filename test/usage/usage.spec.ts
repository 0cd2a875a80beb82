import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { Controller, Get, Module } from '@nestjs/common';
import { Throttle } from '@nestjs/throttler';
import { Operation } from '../../src/api/operation/operation.decorator';
import { connectAgent } from '../mcp/support';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { holdTimers } from '../support/timers';

const PATH = '/v1/usage';
const MAX_ROWS = 10_000;
const DAY_SECONDS = 86_400;
const NONE = { admitted: 0, rejected: 0, failed: 0, errors: 0 };
const SMALL = { plan: 'enterprise', perMinute: 3, perDay: 1_000 } as const;

/** Tells when the slow handler begins, and when its client has left. */
const slow = new EventEmitter();

const operation = (id: string) =>
  Operation({ id, summary: id, description: id, scope: 'pets:read', returns: [204, undefined, 'Nothing.'] });

@Controller('faults')
class FaultsController {
  @Get()
  @operation('getFault')
  get(): never {
    throw new Error('a fault');
  }

  @Get('slow')
  @operation('getSlow')
  async slow(): Promise<void> {
    slow.emit('begun');
    await once(slow, 'left');
  }

  @Get('limited')
  @Throttle({ default: { limit: 1, ttl: 60_000 } })
  @operation('getLimited')
  limited(): void {}
}

@Module({ controllers: [FaultsController] })
class FaultsModule {}

describe('GET /v1/usage (getUsage)', () => {
  let app: TestApp;
  /** Writes the counts, then reads those of the key's account; the request itself is written later. */
  const usage = async (key: string, query = '') => {
    await app.runDueWork();
    const response = await app.get(`${PATH}${query}`, { key });
    expect([response.status, response.text.slice(0, 1)]).toEqual([200, '[']);
    return response.json;
  };
  const repeat = async (times: number, path: string, key: string, from = app) => {
    for (let at = 0; at < times; at += 1) await from.get(path, { key });
  };

  beforeAll(async () => {
    // Else a write under way has counts that the spec's own write lacks.
    holdTimers();
    app = await startApp({}, { modules: [FaultsModule] });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await app.close();
  });

  it('has the admitted requests of a key, those of them that failed, and the rejected ones', async () => {
    const { id, key } = await app.createKey({ label: 'shop', scopes: ['pets:read'] });
    await repeat(2, '/v1/pets', key);
    await app.get('/v1/pets?limit=0', { key });
    await app.post('/v1/pets', {}, { key });
    await app.get('/v1/nothing', { key });
    await app.get('/v1/faults', { key });
    expect(await usage(key)).toEqual([
      { date: '2026-11-21', keyId: id, label: 'shop', admitted: 6, rejected: 0, failed: 3, errors: 1 },
    ]);
    expect(await usage(key)).toEqual([expect.objectContaining({ admitted: 7, failed: 3, errors: 1 })]);
  });

  it('counts a request exactly if the windows count it: not getKey, and a 429 as rejected only', async () => {
    const { key } = await app.createKey({ choice: SMALL });
    await repeat(5, '/v1/pets', key);
    await repeat(5, '/v1/key', key);
    app.clock.advance({ seconds: 60 });
    const [{ admitted, rejected, failed }] = await usage(key);
    const { limit, remaining } = (await app.get('/v1/key', { key })).json.limits.day;
    // The request that reads the usage is not written yet.
    expect([admitted, rejected, failed, limit - remaining]).toEqual([3, 2, 0, 4]);
  });

  it('counts the 429 of a banned key, and that of a route with its own limit, whose request the plan has counted', async () => {
    const banned = await app.createKey();
    const end = new Date(app.clock.now() + 3_600_000);
    await app.database.query('INSERT INTO key_bans VALUES ($1, $2)', [banned.id, end]);
    await app.runDueWork();
    expect((await app.get('/v1/pets', { key: banned.key })).status).toBe(429);
    await app.database.query('DELETE FROM key_bans');
    const { key } = await app.createKey();
    await repeat(3, '/v1/faults/limited', key);
    expect(await usage(key)).toEqual([expect.objectContaining({ ...NONE, admitted: 3, rejected: 2 })]);
    const rows = await app.database.query('SELECT rejected FROM key_usage WHERE key_id = $1', [banned.id]);
    expect(rows).toEqual([{ rejected: '1' }]);
  });

  it('counts nothing without a valid key', async () => {
    await app.runDueWork();
    const before = await app.database.query('SELECT count(*) FROM key_usage');
    const { id, key } = await app.createKey({ expiresAt: new Date(app.clock.now() + 1_000) });
    app.clock.advance({ seconds: 2 });
    expectError(await app.get('/v1/pets', { key }), 401, 'expired_api_key');
    await app.get('/v1/pets', { key: undefined });
    await app.runDueWork();
    expect(await app.database.query('SELECT count(*) FROM key_usage')).toEqual(before);
    expect(await app.database.query('SELECT 1 FROM key_usage WHERE key_id = $1', [id])).toEqual([]);
  });

  it('counts a tool call of an agent once, also if the tool fails', async () => {
    const { key } = await app.createKey();
    const agent = await connectAgent(app, key);
    const [before] = await usage(key);
    const call = { name: 'getPet', arguments: { petId: '7' } };
    expect((await agent.callTool(call)).isError).toBe(true);
    for (const isError of [undefined, true]) {
      expect((await agent.callTool({ name: 'getLimited' })).isError).toBe(isError);
    }
    await agent.close();
    // With the request that has read the first usage.
    expect(await usage(key)).toEqual([{ ...before, admitted: before.admitted + 4 }]);
  });

  it('counts a request whose client leaves before the response', async () => {
    const { key } = await app.createKey();
    const { port, hostname } = new URL(app.url);
    const begun = once(slow, 'begun');
    const socket = connect(Number(port), hostname);
    socket.write(`GET /v1/faults/slow HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await begun;
    socket.destroy();
    slow.emit('left');
    expect(await usage(key)).toEqual([expect.objectContaining({ ...NONE, admitted: 1 })]);
  });

  it('has an item for each day and key, ordered by day and key', async () => {
    const [one, other] = [await app.createKey({ account: 'days' }), await app.createKey({ account: 'days' })];
    await repeat(1, '/v1/pets', one.key);
    await repeat(2, '/v1/pets', other.key);
    app.clock.advance({ seconds: DAY_SECONDS });
    try {
      await repeat(3, '/v1/pets', one.key);
      const ids = [one, other].map(({ id }) => id).sort();
      const found = await usage(one.key);
      expect(found.map(({ date, keyId }: any) => [date, keyId])).toEqual([
        ...ids.map((id) => ['2026-11-21', id]),
        ['2026-11-22', one.id],
      ]);
      const admitted = (id: string) =>
        found.filter(({ keyId }: any) => keyId === id).map((each: any) => each.admitted);
      expect([admitted(one.id), admitted(other.id)]).toEqual([[1, 3], [2]]);
      expect(await usage(one.key, '?to=2026-11-21')).toHaveLength(2);
      expect(await usage(one.key, '?from=2026-11-22')).toHaveLength(1);
      expect(await usage(one.key, '?from=2025-10-19')).toHaveLength(3);
      // By default the 30 days to the last one.
      expect(await usage(one.key, '?to=2026-12-20')).toHaveLength(3);
      expect(await usage(one.key, '?to=2026-12-21')).toHaveLength(1);
    } finally {
      app.clock.advance({ seconds: -DAY_SECONDS });
    }
  });

  it('is that of the own account; with the scope admin also that of another one', async () => {
    const reader = await app.createKey({ account: 'acme', scopes: ['pets:read'] });
    const admin = await app.createKey({ scopes: ['admin'] });
    await repeat(2, '/v1/pets', reader.key);
    await app.runDueWork();
    expect(await usage(admin.key, '?account=acme')).toMatchObject([{ keyId: reader.id, admitted: 2 }]);
    expect(await usage(admin.key, '?account=nobody')).toEqual([]);
    const own = await usage(admin.key);
    expect(own.map(({ keyId }: any) => keyId)).toEqual([admin.id]);
    const denied = await app.get(`${PATH}?account=acme&from=x`, { key: reader.key });
    expectError(denied, 403, 'insufficient_scope');
    expect(denied.headers['www-authenticate']).toContain('scope="admin"');
  });

  it('accepts 400 days, and returns 400 to a range with too many items', async () => {
    expect((await app.get(`${PATH}?from=2025-01-01&to=2026-02-04`)).status).toBe(200);
    // The database has no day before it.
    expect((await app.get(`${PATH}?to=0001-01-02`)).json).toEqual([]);
    const { key } = await app.createKey({ account: 'crowd' });
    await app.database.query(
      `INSERT INTO key_usage SELECT (SELECT id FROM accounts WHERE name = 'crowd'), '2026-11-01', n, 1, 0, 0, 0
       FROM generate_series(1, $1) AS n`,
      [MAX_ROWS],
    );
    const range = '?from=2026-11-01&to=2026-11-01';
    expect(await usage(key, range)).toHaveLength(MAX_ROWS);
    await app.database.query(`UPDATE key_usage SET date = '2026-11-02' WHERE key_id = '7'`);
    await app.database.query(`INSERT INTO key_usage SELECT account_id, date, 'more', 1, 0, 0, 0 FROM key_usage
      WHERE key_id = '7'`);
    const tooMany = await app.get(`${PATH}?from=2026-11-01`, { key });
    expectError(tooMany, 400, 'validation_failed');
    expect(await usage(key, '?from=2026-11-02&to=2026-11-02')).toHaveLength(2);
  });
});
