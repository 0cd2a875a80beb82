import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../support/http';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';
import { type Services, startServices } from './support/services';

const ROUNDS = 3;
const INSTANCES = 2;
const CLIENTS = 8;
const LIMIT = 60;
const OUTAGE_MS = 2_000;

jest.setTimeout(300_000);

interface Outage {
  readonly name: string;
  readonly begin: (redis: RedisServer) => unknown;
  readonly end: (redis: RedisServer) => unknown;
}

const OUTAGES: readonly Outage[] = [
  { name: 'SIGSTOP', begin: (redis) => redis.freeze(), end: (redis) => redis.thaw() },
  { name: 'SIGKILL', begin: (redis) => redis.kill(), end: (redis) => redis.start() },
  {
    name: 'maxmemory',
    begin: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', 1),
    end: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', 0),
  },
];

const median = (values: readonly number[]) => Math.round(values.toSorted((a, b) => a - b)[1] ?? Number.NaN);

describeWithRedis('an outage of Redis under load', () => {
  let redis: RedisServer;
  let together: Services;
  beforeAll(async () => {
    redis = await startRedis();
    together = await startServices(INSTANCES, { REDIS_URL: redis.url() });
  });
  afterAll(async () => {
    await together.stop();
    await redis.stop();
  });

  /** Runs one outage. @returns the longest response time, and the time from its end until all share, in ms */
  async function suffer({ begin, end }: Outage): Promise<{ longestMs: number; recoveryMs: number }> {
    const key = await together.createKey();
    const load = { isOn: true, longestMs: 0, admitted: 0 };
    const clients = Array.from({ length: CLIENTS }, async (_, at) => {
      const { url } = together.services[at % INSTANCES]!;
      while (load.isOn) {
        const startedAt = performance.now();
        const { status } = await send(url, 'GET', '/v1/pets?limit=1', { key });
        load.longestMs = Math.max(load.longestMs, performance.now() - startedAt);
        load.admitted += status === 200 ? 1 : 0;
        expect([200, 429]).toContain(status);
      }
    });
    await sleep(200);
    load.longestMs = 0;
    await begin(redis);
    await sleep(OUTAGE_MS);
    expect(await together.areShared()).toBe(false);
    await end(redis);
    const endedAt = performance.now();
    await until(together.areShared);
    const recoveryMs = performance.now() - endedAt;
    load.isOn = false;
    await Promise.all(clients);
    expect(load.admitted).toBeGreaterThanOrEqual(LIMIT);
    expect(load.admitted).toBeLessThanOrEqual(INSTANCES * LIMIT);
    return { longestMs: load.longestMs, recoveryMs };
  }

  it.each(OUTAGES)('($name) causes no errors, and every instance recovers', async (outage) => {
    const rounds = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await suffer(outage));
    const longest = median(rounds.map(({ longestMs }) => longestMs));
    const recovery = median(rounds.map(({ recoveryMs }) => recoveryMs));
    process.stdout.write(
      `Redis unavailable (${outage.name}): longest wait ${longest} ms, sharing again after ${recovery} ms (medians of ${ROUNDS})\n`,
    );
  });
});
