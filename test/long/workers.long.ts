import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { runLoad } from '../../bench/load-generator';
import { cpuSeconds } from '../../bench/process-facts';
import { send } from '../support/http';
import { dataFolder, runBuilt, running, type RunningService } from '../support/service';
import { createKey } from './support/keys';
import { median } from './support/programs';

const PARALLEL = 1_200;
const ROUNDS = 10;
/** Of the plan `free`. */
const PER_MINUTE = 60;
const STRIKES = 5;
const WARM_UP_SECONDS = 5;
const SECONDS = 4;
/** The processor time of a request with workers, compared with one process: each shares fewer reads. */
const MAX_RATIO = 4;

jest.setTimeout(1_200_000);

describe('WORKERS=2', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, RATE_LIMIT_BAN_AFTER: String(STRIKES) };
  const start = (workers: number, more: Record<string, string> = environment) =>
    running(runBuilt('main', [], { ...more, WORKERS: String(workers) }));
  const free = async (at: number): Promise<string> => {
    const args = ['keys', 'create', '--account', `free ${at}`, '--plan', 'free', '--json'];
    const command = runBuilt('cli/main', args, environment);
    expect(await command.ended).toBe(0);
    return (JSON.parse(command.standardOutput()) as { key: string }).key;
  };
  let service: RunningService;
  beforeAll(async () => {
    service = await start(2);
  });
  afterAll(async () => {
    service.child.kill('SIGTERM');
    await service.ended;
    folder.remove();
  });

  it(`admits exactly ${PER_MINUTE} of ${PARALLEL} parallel requests, ${ROUNDS} of ${ROUNDS} times`, async () => {
    const admitted: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const key = await free(round);
      const agent = new Agent({ keepAlive: true, maxSockets: 200 });
      const sent = Array.from({ length: PARALLEL }, () =>
        send(service.url, 'GET', '/v1/pets', { key, agent }),
      );
      admitted.push((await Promise.all(sent)).filter(({ status }) => status === 200).length);
      agent.destroy();
    }
    process.stdout.write(`admitted by two workers: ${admitted.join(' ')}\n`);
    expect(admitted).toEqual(admitted.map(() => PER_MINUTE));
  });

  it('bans a key by the strikes of both workers, on both', async () => {
    const key = await free(ROUNDS);
    // Each request has its own connection, so both workers give strikes.
    const get = (path: string) => send(service.url, 'GET', path, { key });
    for (let sent = 0; sent <= PER_MINUTE; sent += 1) await get('/v1/pets?limit=1');
    for (let strike = 0; strike < STRIKES; strike += 1) {
      await sleep(1_100);
      expect((await get('/v1/pets')).json.code).toMatch(/^(rate_limit_exceeded|api_key_banned)$/);
    }
    const codes = await Promise.all(Array.from({ length: 20 }, () => get('/v1/pets')));
    expect(new Set(codes.map(({ json }) => json.code))).toEqual(new Set(['api_key_banned']));
  });

  it('takes less than four times the processor time of one process for a request of few connections', async () => {
    const key = await createKey(environment);
    // Both services use one database. Redis would be needed for limits that a test reaches.
    const DATABASE_URL = `postgresql://app@localhost:5432/postgres?host=${encodeURIComponent(folder.path)}`;
    const single = await start(1, { DATABASE_URL });
    const measure = async ({ url, child }: RunningService, seconds: number): Promise<number> => {
      const requests = [5, 10, 15, 20, 25, 30].map((limit) => ({
        method: 'GET' as const,
        path: `/v1/pets?limit=${limit}`,
        key,
      }));
      const before = cpuSeconds(child.pid!);
      const load = { port: Number(new URL(url).port), requests, connections: 32, seconds };
      const { requests: count } = await runLoad(load);
      return ((cpuSeconds(child.pid!) - before) / count) * 1e6;
    };
    for (const each of [single, service]) await measure(each, WARM_UP_SECONDS);
    const ofOne: number[] = [];
    const ofTwo: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      ofOne.push(await measure(single, SECONDS));
      ofTwo.push(await measure(service, SECONDS));
    }
    const [one, two] = [median(ofOne), median(ofTwo)];
    process.stdout.write(
      `processor time of a request: ${one.toFixed(0)} µs by one process, ${two.toFixed(0)} µs by two workers and the primary process, ${(two / one).toFixed(2)} times\n`,
    );
    single.child.kill('SIGTERM');
    await single.ended;
    expect(two / one).toBeLessThan(MAX_RATIO);
  });
});
