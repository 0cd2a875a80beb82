import { startApp } from './app';
import { describeWithRedis, type RedisServer, startRedis } from './redis';

/** @param isFirst false where the specs run once more: what only takes long need not be repeated */
type Specs = (start: typeof startApp, isFirst: boolean) => void;

/** Runs the same specs with counters in memory and with counters in Redis; each application has a database of its own. */
export function describeOverStores(name: string, specs: Specs): void {
  describe(name, () => specs(startApp, true));
  describeWithRedis(`${name}, with Redis`, () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis.stop());
    // What is tested is not how long a busy machine takes.
    const patient = { redisTimeoutMs: 10_000 };
    specs(
      (settings, ...rest) => startApp({ ...settings, ...patient, redisUrl: [redis.url()] }, ...rest),
      false,
    );
  });
}
