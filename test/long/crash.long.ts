import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../support/http';
import { linksOf } from '../support/links';
import { dataFolder, runBuilt, running, type RunningService } from '../support/service';
import { ALL_SCOPES, createKey } from './support/keys';
import { AnimalLedger, type AnimalState, changedName } from './support/ledger';

const ROUNDS = 10;
/** So many that creations wait for each other, and are joined. */
const WRITERS = 32;
/** One of so many animals is changed, another one removed. */
const WRITES_PER_CHANGE = 4;
const MIN_LIFE_MS = 200;
const MAX_LIFE_MS = 1_500;

type Message = [method: string, path: string, body?: object];

jest.setTimeout(ROUNDS * 60_000);

describe('SIGKILL of the service, with fsync on', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  afterAll(folder.remove);

  it(`loses no acknowledged creation, change or removal in ${ROUNDS} rounds with ${WRITERS} writers, and every next start works`, async () => {
    const ledger = new AnimalLedger();
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    let written = 0;
    for (let round = 1; round <= ROUNDS; round += 1) {
      const service = await running(runBuilt('main', [], environment));
      written += await writeUntilKilled(service, key, ledger, round);
      expect(await service.ended).toBeNull();
    }
    const service = await running(runBuilt('main', [], environment));
    const stored = await allNames(service, key);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);

    const faults = ledger.faults(stored);
    process.stdout.write(
      `crash: ${ROUNDS} rounds, ${ledger.summary}; not as acknowledged ${faults.length}\n`,
    );
    expect(faults).toEqual([]);
    expect(written).toBeGreaterThan(ROUNDS * WRITERS);
  });
});

/**
 * Adds animals with several clients, each after its last response, until the service is killed at a random time. Some
 * animals are then changed or removed.
 *
 * @returns the number of acknowledged creations
 */
async function writeUntilKilled(
  service: RunningService,
  key: string,
  ledger: AnimalLedger,
  round: number,
): Promise<number> {
  const killed = new AbortController();
  const agent = new Agent({ keepAlive: true, maxSockets: WRITERS });
  let added = 0;
  const write = async (name: string, became: AnimalState, success: number, ...message: Message) => {
    const [method, path, body] = message;
    const response = await send(service.url, method, path, { key, agent, body }).catch(() => undefined);
    if (response && response.status !== success) throw new Error(`not written: ${response.text}`);
    ledger.record(name, became, response ? 'done' : 'unknown');
    return response;
  };
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let count = 0; !killed.signal.aborted; count += 1) {
      const name = `round ${round} writer ${writer} animal ${count}`;
      const created = await write(name, 'added', 201, 'POST', '/v1/pets', { name, categoryId: 1 });
      if (!created) continue;
      added += 1;
      const path = `/v1/pets/${created.json.id}`;
      if (count % WRITES_PER_CHANGE === 1)
        await write(name, 'changed', 200, 'PATCH', path, { name: changedName(name) });
      if (count % WRITES_PER_CHANGE === 2) await write(name, 'absent', 204, 'DELETE', path);
    }
  });
  await sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
  service.child.kill('SIGKILL');
  killed.abort();
  await Promise.all(writers);
  agent.destroy();
  return added;
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
