import { RateLimitStore } from '../../src/rate-limit';
import type { RedisClient } from '../../src/rate-limit/redis.client';
import { RedisLink } from '../../src/rate-limit/redis.link';
import { startApp, type TestApp } from '../support/app';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const PASSWORD = 'a-password';
/** The specs do not test the speed of a busy machine. */
const PATIENT = { redisTimeoutMs: 10_000 };
const FREE = { plan: 'free', perMinute: null, perDay: null } as const;

interface Rejection {
  readonly name: string;
  readonly rules: readonly string[];
  /** The part of the URL before the address, and the part after it. */
  readonly access?: string;
  readonly path?: string;
  readonly reason: RegExp;
}

const REJECTIONS: readonly Rejection[] = [
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

describeWithRedis('a Redis that rejects', () => {
  const servers: RedisServer[] = [];
  const apps: TestApp[] = [];
  // All start first, as their attempts take time. Nest has one logger in a process: after their start, all applications
  // write to the log of the last one.
  beforeAll(async () => {
    for (const { rules, access = `app:${PASSWORD}@`, path = '' } of REJECTIONS) {
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

  it.each(REJECTIONS.map((rejection, at) => ({ ...rejection, at })))(
    '$name is unavailable, has one log line with the reason, and gets no counters',
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

  it('is used when it accepts commands, with one log line', async () => {
    const [app, redis] = [apps.at(-1)!, servers.at(-1)!];
    await allow(redis, ['+@all']);
    await until(() => isShared(app));
    await app.get('/v1/pets?limit=1');
    expect(linesOf(app)).toEqual([
      expect.stringContaining('is unavailable'),
      expect.stringContaining('is available again'),
    ]);
    expect(String(await redis.command('INFO', 'keyspace'))).toContain('db3');
  });
});

describe('a connection to Redis', () => {
  it('is used after a probe that was sent after the last error, not after an earlier probe', async () => {
    let fail = (_error: Error): void => undefined;
    const responses: ((response: string) => void)[] = [];
    const evalSha = () => new Promise((resolve) => responses.push(resolve));
    const client: RedisClient = { evalSha, eval: evalSha, on: () => undefined };
    const connect = (_signal: AbortSignal, onError: (error: Error) => void) => {
      fail = onError;
      return Promise.resolve(client);
    };
    const link = new RedisLink({ load: jest.fn(), connect }, PATIENT.redisTimeoutMs, '', 1);
    const opened = link.open();
    await until(() => responses.length === 1);
    fail(new Error('connection reset'));
    responses[0]?.('{}');
    await opened;
    expect(link.isShared).toBe(false);
    await until(() => responses.length === 2);
    expect(link.isShared).toBe(false);
    responses[1]?.('{}');
    await until(() => link.isShared);
    link.close();
  });
});

describeWithRedis('a damaged key in Redis', () => {
  it('counts as missing, gets the known counters again, and does not end sharing', async () => {
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
