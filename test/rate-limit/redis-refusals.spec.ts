import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimitStore } from '../../src/rate-limit';
import { startApp, type TestApp } from '../support/app';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const PASSWORD = 'a-password';
/** Long enough for several attempts to join. */
const ATTEMPTS_MS = 1_200;
const POLL_MS = 5;
const FREE = { plan: 'free', perMinute: null, perDay: null } as const;

interface Refusal {
  readonly name: string;
  readonly rules: readonly string[];
  /** What follows `redis://` but the address, and what follows the address. */
  readonly access?: string;
  readonly path?: string;
  readonly reason: RegExp;
}

const REFUSALS: readonly Refusal[] = [
  { name: 'a database that it lacks', rules: ['+@all'], path: '/5000', reason: /DB index is out of range/ },
  { name: 'SELECT', rules: ['+@all', '-select'], path: '/3', reason: /NOPERM.*select/ },
  { name: 'the password', rules: ['+@all'], access: 'app:wrong@', reason: /WRONGPASS/ },
  { name: 'EVALSHA', rules: ['+@all', '-evalsha'], reason: /NOPERM.*evalsha/ },
  { name: 'EVAL', rules: ['+@all', '-eval'], reason: /NOPERM.*eval/ },
];

describeWithRedis('a Redis that refuses', () => {
  let redis: RedisServer;
  let app: TestApp;
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    await app.close();
    await redis.stop();
  });
  const allow = (...rules: readonly string[]) =>
    redis.command('ACL', 'SETUSER', 'app', 'reset', 'on', `>${PASSWORD}`, '~*', ...rules);
  const isShared = () => app.nest.get(RateLimitStore, { strict: false }).isShared;
  const lines = () => app.log.filter((line) => line.includes('Redis is'));

  it.each(REFUSALS)(
    '$name is away, says so and why in one line, is never joined meanwhile, and holds no counters',
    async ({ rules, access = `app:${PASSWORD}@`, path = '', reason }) => {
      await allow(...rules);
      app = await startApp({ redisUrl: [`redis://${access}127.0.0.1:${redis.port}${path}`] });
      const seen = new Set<boolean>();
      const end = Date.now() + ATTEMPTS_MS;
      while (Date.now() < end) {
        expect((await app.get('/v1/pets?limit=1')).status).toBe(200);
        seen.add(isShared());
        await sleep(POLL_MS);
      }
      expect([...seen]).toEqual([false]);
      expect(lines()).toEqual([expect.stringMatching(reason)]);
      expect(String(await redis.command('KEYS', '*'))).not.toMatch(/\}:(minute|day)(,|$)/);
    },
  );

  it('is joined when it refuses no longer, which one line says', async () => {
    await allow('+@all', '-select');
    app = await startApp({ redisUrl: [`redis://app:${PASSWORD}@127.0.0.1:${redis.port}/3`] });
    await allow('+@all');
    await until(isShared);
    await app.get('/v1/pets?limit=1');
    expect(lines()).toEqual([expect.stringContaining('is away'), expect.stringContaining('is back')]);
    expect(String(await redis.command('INFO', 'keyspace'))).toContain('db3');
  });
});

describeWithRedis('a damaged key in Redis', () => {
  it('counts as none, is told again what is known, and sharing does not end', async () => {
    const redis = await startRedis();
    const app = await startApp({ redisUrl: [redis.url()] });
    const { key, id } = await app.createKey({ choice: FREE });
    const remaining = async () => (await app.get('/v1/pets', { key })).headers['x-ratelimit-remaining'];
    expect(await remaining()).toBe('59');
    const [minute] = [await redis.command('KEYS', '*{account:*}:minute')].flat();
    const names = ['minute', 'day', `key:${id}`].map((name) => String(minute).replace(/minute$/, name));
    for (const [at, name] of names.entries()) {
      await redis.command('DEL', name);
      await redis.command('LPUSH', name, 'x');
      expect(await remaining()).toBe(String(58 - at));
    }
    await redis.command('HSET', names[0]!, 'used', 'x');
    await redis.command('HSET', names[1]!, 'endsAt', 'inf');
    await redis.command('SET', names[2]!, '[');
    expect(await remaining()).toBe('55');
    expect(app.log.filter((line) => line.includes('Redis is'))).toEqual([]);
    expect(await redis.command('TYPE', names[0]!)).toBe('hash');
    await app.close();
    await redis.stop();
  });
});
