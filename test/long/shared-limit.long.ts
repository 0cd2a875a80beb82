import { type HttpResponse, send } from '../support/http';
import { describeWithRedis, startRedis } from '../support/redis';
import { startServices } from './support/services';

const ROUNDS = 20;
const OFFERED = 1_200;
const LIMIT = 60;
/** Generous, because this spec does not test the speed of a busy machine. */
const PATIENCE_MS = 10_000;

jest.setTimeout(300_000);

const remaining = ({ headers }: HttpResponse) => Number(headers['x-ratelimit-remaining']);

describeWithRedis('processes that share a Redis', () => {
  it.each([1, 2, 4])(
    `%i together admit exactly ${LIMIT} of ${OFFERED} concurrent requests, in each of ${ROUNDS} rounds`,
    async (count) => {
      const redis = await startRedis();
      const together = await startServices(count, {
        REDIS_URL: redis.url(),
        REDIS_TIMEOUT_MS: String(PATIENCE_MS),
      });
      for (let round = 0; round < ROUNDS; round += 1) {
        const key = await together.createKey();
        const asked = Array.from({ length: OFFERED }, (_, at) =>
          send(together.services[at % count]!.url, 'GET', '/v1/pets?limit=1', { key }),
        );
        const responses = await Promise.all(asked);
        const admitted = responses.filter(({ status }) => status === 200);
        expect(admitted.map(remaining).sort((a, b) => b - a)).toEqual(
          Array.from({ length: LIMIT }, (_, at) => LIMIT - 1 - at),
        );
        expect(responses.filter(({ status }) => status === 429)).toHaveLength(OFFERED - LIMIT);
      }
      await together.stop();
      await redis.stop();
    },
  );
});
