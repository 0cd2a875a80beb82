import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../support/http';
import { dataFolder, runBuilt, running, type RunningService } from '../support/service';

const PARALLEL = 1_200;
const ROUNDS = 10;
/** Of the plan `free`. */
const PER_MINUTE = 60;
const STRIKES = 5;

jest.setTimeout(1_200_000);

describe('WORKERS=2', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, RATE_LIMIT_BAN_AFTER: String(STRIKES) };
  const free = async (at: number): Promise<string> => {
    const args = ['keys', 'create', '--account', `free ${at}`, '--plan', 'free', '--json'];
    const command = runBuilt('cli/main', args, environment);
    expect(await command.ended).toBe(0);
    return (JSON.parse(command.standardOutput()) as { key: string }).key;
  };
  let service: RunningService;
  beforeAll(async () => {
    service = await running(runBuilt('main', [], { ...environment, WORKERS: '2' }));
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
});
