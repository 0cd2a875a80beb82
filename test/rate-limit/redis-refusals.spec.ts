import { RateLimitStore } from '../../src/rate-limit';
import { createRedisClient } from '../../src/rate-limit/redis.client';
import { RedisLink } from '../../src/rate-limit/redis.link';
import { startApp, type TestApp } from '../support/app';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const PASSWORD = 'a-password';
/** What is tested is not how long a busy machine takes. */
const PATIENT = { redisTimeoutMs: 10_000 };
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
  { name: 'the password', rules: ['+@all'], access: 'app:wrong@', reason: /WRONGPASS/ },
  { name: 'EVALSHA', rules: ['+@all', '-evalsha'], reason: /NOPERM.*evalsha/ },
  { name: 'EVAL', rules: ['+@all', '-eval'], reason: /NOPERM.*eval/ },
  { name: 'SELECT', rules: ['+@all', '-select'], path: '/3', reason: /NOPERM.*select/ },
];

const allow = (redis: RedisServer, rules: readonly string[]) =>
  redis.command('ACL', 'SETUSER', 'app', 'reset', 'on', `>${PASSWORD}`, '~*', ...rules);
const isShared = ({ nest }: TestApp) => nest.get(RateLimitStore, { strict: false }).isShared;
const linesOf = ({ log }: TestApp) => log.filter((line) => line.includes('Redis is'));

describeWithRedis('a Redis that refuses', () => {
  const servers: RedisServer[] = [];
  const apps: TestApp[] = [];
  // Together, as the attempts of each need some time. Nest has one logger in a process: what an application logs after
  // its start is in the log of the last one.
  beforeAll(async () => {
    for (const { rules, access = `app:${PASSWORD}@`, path = '' } of REFUSALS) {
      const redis = await startRedis();
      servers.push(redis);
      await allow(redis, rules);
      const redisUrl = [`redis://${access}127.0.0.1:${redis.port}${path}`];
      apps.push(await startApp({ redisUrl, ...PATIENT }, apps[0] && { beside: apps[0] }));
    }
  });
  afterAll(async () => {
    for (const app of apps.toReversed()) await app.close();
    await Promise.all(servers.map((redis) => redis.stop()));
  });

  it.each(REFUSALS.map((refusal, at) => ({ ...refusal, at })))(
    '$name is away, says so and why in one line, is never joined meanwhile, and holds no counters',
    async ({ at, reason }) => {
      const [app, redis] = [apps[at]!, servers[at]!];
      const seen = new Set<boolean>();
      await until(async () => {
        expect((await app.get('/v1/pets?limit=1')).status).toBe(200);
        seen.add(isShared(app));
        // Each attempt logs in.
        return (await redis.calls('auth')) > 3;
      });
      expect([...seen]).toEqual([false]);
      expect(linesOf(app)).toEqual([expect.stringMatching(reason)]);
      expect(String(await redis.command('KEYS', '*'))).not.toMatch(/\}:(minute|day)(,|$)/);
    },
  );

  it('is joined when it refuses no longer, which one line says', async () => {
    const [app, redis] = [apps.at(-1)!, servers.at(-1)!];
    await allow(redis, ['+@all']);
    await until(() => isShared(app));
    await app.get('/v1/pets?limit=1');
    expect(linesOf(app)).toEqual([expect.stringContaining('is away'), expect.stringContaining('is back')]);
    expect(String(await redis.command('INFO', 'keyspace'))).toContain('db3');
  });
});

describe('a connection to Redis', () => {
  it('is joined by a probe that was sent after its last error, and by no earlier one', async () => {
    const client = createRedisClient(['redis://127.0.0.1']);
    const link = new RedisLink(client, PATIENT.redisTimeoutMs, '');
    let respond = (_answer: string): void => undefined;
    const probe = jest.spyOn(client, 'evalsha');
    probe.mockImplementation(() => new Promise((resolve) => (respond = resolve)));
    const connect = () => client.emit('ready');
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    connect();
    client.emit('error', new Error('WRONGPASS'));
    respond('{}');
    await settled();
    expect(link.isShared).toBe(false);
    connect();
    respond('{}');
    await settled();
    expect(link.isShared).toBe(true);
    link.close();
  });
});

describeWithRedis('a damaged key in Redis', () => {
  it('counts as none, is told again what is known, and sharing does not end', async () => {
    const redis = await startRedis();
    const app = await startApp({ redisUrl: [redis.url()], ...PATIENT });
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
