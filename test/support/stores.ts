import { startApp } from './app';
import { describeWithRedis, type RedisServer, startRedis } from './redis';

/** @param isFirst false in the second run, which need not repeat slow specs */
type Specs = (start: typeof startApp, isFirst: boolean) => void;

/** Runs the same specs with counters in memory and in Redis. Each application has its own database. */
export function describeOverStores(name: string, specs: Specs): void {
  describe(name, () => specs(startApp, true));
  describeWithRedis(`${name}, with Redis`, () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis.stop());
    // These specs do not test the speed of a busy machine.
    const patient = { redisTimeoutMs: 10_000 };
    specs(
      (settings, ...rest) => startApp({ ...settings, ...patient, redisUrl: [redis.url()] }, ...rest),
      false,
    );
  });
}
