import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../support/http';
import { linksOf } from '../support/links';
import { dataFolder, runBuilt, running, type RunningService } from '../support/service';

const ROUNDS = 10;
/** So many that creations wait for each other, and are joined. */
const WRITERS = 32;
const MIN_LIFE_MS = 200;
const MAX_LIFE_MS = 1_500;

jest.setTimeout(ROUNDS * 60_000);

/** The unique names of the animals, by the outcome that the client knows. */
interface Ledger {
  readonly acknowledged: Set<string>;
  /** No response came: the animal may exist or not. */
  readonly unknown: Set<string>;
}

describe('SIGKILL of the service, with fsync on', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  afterAll(folder.remove);

  /** Creates a key of an account whose limits no writer reaches. */
  async function createKey(): Promise<string> {
    const numbers = ['--per-minute', '1000000000', '--per-day', '1000000000'];
    const args = ['keys', 'create', '--account', 'writers', '--plan', 'enterprise', ...numbers, '--json'];
    const command = runBuilt('cli/main', args, environment);
    expect(await command.ended).toBe(0);
    return (JSON.parse(command.standardOutput()) as { key: string }).key;
  }

  it(`loses no acknowledged animal in ${ROUNDS} rounds with ${WRITERS} writers, and every next start works`, async () => {
    const ledger: Ledger = { acknowledged: new Set(), unknown: new Set() };
    const key = await createKey();
    for (let round = 1; round <= ROUNDS; round += 1) {
      const service = await running(runBuilt('main', [], environment));
      await writeUntilKilled(service, key, ledger, round);
      expect(await service.ended).toBeNull();
    }
    const service = await running(runBuilt('main', [], environment));
    const stored = await allNames(service, key);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);

    const lost = [...ledger.acknowledged].filter((name) => !stored.includes(name));
    const invented = stored.filter((name) => !ledger.acknowledged.has(name) && !ledger.unknown.has(name));
    process.stdout.write(
      `crash: ${ROUNDS} rounds, acknowledged ${ledger.acknowledged.size}, lost ${lost.length}, unknown ${ledger.unknown.size}\n`,
    );
    expect(lost).toEqual([]);
    expect(invented).toEqual([]);
    expect(new Set(stored).size).toBe(stored.length);
    expect(ledger.acknowledged.size).toBeGreaterThan(ROUNDS * WRITERS);
  });
});

/** Adds animals with several clients, each after its last response, until the service is killed at a random time. */
async function writeUntilKilled(
  service: RunningService,
  key: string,
  { acknowledged, unknown }: Ledger,
  round: number,
): Promise<void> {
  const killed = new AbortController();
  const agent = new Agent({ keepAlive: true, maxSockets: WRITERS });
  const write = async (name: string): Promise<void> => {
    const body = { name, categoryId: 1 };
    const response = await send(service.url, 'POST', '/v1/pets', { key, body, agent }).catch(() => undefined);
    if (response === undefined) unknown.add(name);
    else if (response.status === 201) acknowledged.add(name);
    else throw new Error(`not added: ${response.text}`);
  };
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let count = 0; !killed.signal.aborted; count += 1) {
      await write(`round ${round} writer ${writer} animal ${count}`);
    }
  });
  await sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
  service.child.kill('SIGKILL');
  killed.abort();
  await Promise.all(writers);
  agent.destroy();
}

async function allNames(service: RunningService, key: string): Promise<string[]> {
  const names: string[] = [];
  for (let next: string | undefined = '/v1/pets?limit=100'; next !== undefined;) {
    const response = await send(service.url, 'GET', next, { key });
    if (response.status !== 200) throw new Error(response.text);
    for (const { name } of response.json) names.push(name);
    next = linksOf(response)['next'];
  }
  return names;
}
