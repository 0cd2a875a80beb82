import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpResponse, send } from '../support/http';
import { dataFolder, runBuilt, running } from '../support/service';

const ROUNDS = 3;
/** The period whose counts a crash may lose: the last second, and the time of one save. */
const LOSS_MS = 1_000 + 250;

jest.setTimeout(ROUNDS * 60_000);

const usedToday = ({ headers }: HttpResponse): number =>
  100_000 - Number(/"day";r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);

describe('SIGKILL of the service', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  afterAll(folder.remove);

  it('loses at most the last second of counts', async () => {
    let key: string | undefined;
    const losses: string[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const service = await running(runBuilt('main', [], environment));
      key ??= service.key;
      const counted: { at: number; used: number }[] = [];
      const end = performance.now() + 1_500 + Math.random() * 1_500;
      while (performance.now() < end) {
        const response = await send(service.url, 'GET', '/v1/pets?limit=1', { key });
        counted.push({ at: performance.now(), used: usedToday(response) });
        await sleep(10);
      }
      service.child.kill('SIGKILL');
      const killedAt = performance.now();
      await service.ended;
      const again = await running(runBuilt('main', [], environment));
      const used = usedToday(await send(again.url, 'GET', '/v1/pets?limit=1', { key })) - 1;
      const certain = counted.findLast(({ at }) => at < killedAt - LOSS_MS)?.used ?? 0;
      losses.push(
        `${(counted.at(-1)?.used ?? 0) - used} of the last second's ${(counted.at(-1)?.used ?? 0) - certain}`,
      );
      expect(used).toBeGreaterThanOrEqual(certain);
      again.child.kill('SIGTERM');
      expect(await again.ended).toBe(0);
    }
    process.stdout.write(`counts lost by SIGKILL: ${losses.join('; ')}\n`);
  });
});
