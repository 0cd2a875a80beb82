import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { itUnderLoad } from '../support/it-when';
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../support/http';
import { dataFolder } from '../support/service';
import { type Receiver, startReceiver } from '../webhooks/support/receivers';
import { BuiltService } from './support/built-service';
import { createKey } from './support/keys';
import { median } from './support/median';

const HEALTHY = 50;
const HANGING = 50;
const PER_ACCOUNT = 10;
const ROUNDS = 9;
const ROUND_MS = 3_000;
const MAX_DELAY_MS = 2_000;
const MANY = 200;
const SLOW_MS = 3_000;
const SLOW_EVENTS = 40;
const MIN_IN_TIME = 0.95;

jest.setTimeout(600_000);

describe('webhooks', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent', WEBHOOKS_ALLOW_PRIVATE: 'true' };
  let service: BuiltService;
  let receiver: Receiver;
  beforeAll(async () => {
    service = await BuiltService.start(environment);
  });
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  const scopes = ['pets:read', 'pets:write', 'webhooks:manage'];
  const post = async (path: string, key: string, body: object): Promise<{ readonly path: string }> => {
    const { status, headers, text } = await send(service.url, 'POST', path, { key, body });
    if (status !== 201) throw new Error(text);
    return { path: String(headers['location']) };
  };

  it(`get each event within ${MAX_DELAY_MS} ms while ${HANGING} of ${HEALTHY + HANGING} receivers hang`, async () => {
    const hanging = createServer(() => undefined);
    await once(hanging.listen(0, '127.0.0.1'), 'listening');
    const { port } = hanging.address() as AddressInfo;
    let key = '';
    for (let at = 0; at < HEALTHY + HANGING; at += 1) {
      if (at % PER_ACCOUNT === 0) key = await createKey(environment, { scopes });
      const url = at % 2 === 0 ? receiver.url : `http://127.0.0.1:${port}/`;
      await post('/v1/webhooks', key, { url });
    }
    const worst: number[] = [];
    // The first failures are after 10 s; later rounds have webhooks that fail, and those that are repeated.
    for (let round = 0; round < ROUNDS; round += 1) {
      const delays: number[] = [];
      const sentAt = performance.now();
      const isComplete = new Promise<void>((resolve) => {
        receiver.respond = (response) => {
          if (delays.push(performance.now() - sentAt) === HEALTHY) resolve();
          response.end();
        };
      });
      await post('/v1/pets', key, { name: `round ${round}`, categoryId: 1 });
      await Promise.all([isComplete, sleep(ROUND_MS)]);
      expect(delays).toHaveLength(HEALTHY);
      worst.push(Math.max(...delays));
    }
    hanging.close();
    hanging.closeAllConnections();
    process.stdout.write(
      `webhooks: ${HANGING} of ${HEALTHY + HANGING} hang, last delivery of a round after ${median(worst).toFixed(0)} ms (median of ${ROUNDS}), at most ${Math.max(...worst).toFixed(0)} ms\n`,
    );
    // Before the first failures, after them, and during the repetitions.
    for (let at = 0; at < ROUNDS; at += 3) expect(median(worst.slice(at, at + 3))).toBeLessThan(MAX_DELAY_MS);
  });

  itUnderLoad(
    `get ${MIN_IN_TIME * 100} % of the events within ${MAX_DELAY_MS} ms while ${MANY} other receivers take ${SLOW_MS} ms`,
    async () => {
      const slow = await startReceiver((response) => void setTimeout(() => response.end(), SLOW_MS));
      let key = '';
      for (let at = 0; at < MANY; at += 1) {
        if (at % PER_ACCOUNT === 0) key = await createKey(environment, { scopes });
        await post('/v1/webhooks', key, { url: slow.url });
      }
      key = await createKey(environment, { scopes });
      const shares: number[] = [];
      const delays: number[] = [];
      for (let run = 0; run < 3; run += 1) {
        const sentAt: number[] = [];
        const delayOf = new Map<number, number>();
        receiver.respond = (response, { body }) => {
          const at = Number(JSON.parse(body).data.name);
          delayOf.set(at, performance.now() - sentAt[at]!);
          response.end();
        };
        const { path } = await post('/v1/webhooks', key, { url: receiver.url });
        for (let at = 0; at < SLOW_EVENTS; at += 1) {
          sentAt.push(performance.now());
          await post('/v1/pets', key, { name: String(at), categoryId: 1 });
          await sleep(1_000);
        }
        await sleep(MAX_DELAY_MS);
        shares.push([...delayOf.values()].filter((delay) => delay < MAX_DELAY_MS).length / SLOW_EVENTS);
        delays.push(median([...delayOf.values(), Infinity].slice(0, SLOW_EVENTS - 1)));
        await send(service.url, 'DELETE', path, { key });
      }
      await slow.close();
      process.stdout.write(
        `webhooks: beside ${MANY} slow ones ${shares.join(', ')} in time, median ${delays.map((each) => each.toFixed(0)).join(', ')} ms; slow ones got ${slow.deliveries.length}\n`,
      );
      expect(median(shares)).toBeGreaterThanOrEqual(MIN_IN_TIME);
    },
  );
});
