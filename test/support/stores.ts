import { startApp } from './app';
import { describeWithRedis, type RedisServer, startRedis } from './redis';

/** Runs the same specs with counters in memory and with counters in Redis; each application has a database of its own. */
export function describeOverStores(name: string, specs: (start: typeof startApp) => void): void {
  describe(name, () => specs(startApp));
  describeWithRedis(`${name}, with Redis`, () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis.stop());
    specs((settings, ...rest) =>
      // What is tested is not how long a busy machine takes.
      startApp({ ...settings, redisUrl: [redis.url()], redisTimeoutMs: 10_000 }, ...rest),
    );
  });
}
