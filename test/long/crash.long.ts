import { setTimeout as sleep } from 'node:timers/promises';
import { dataFolder, runBuilt, running, type RunningService } from '../support/service';
import { ALL_SCOPES, createKey } from './support/keys';
import { AnimalLedger } from './support/ledger';
import { allNames, WRITERS, writeAnimals } from './support/writers';

const ROUNDS = 10;
const MIN_LIFE_MS = 200;
const MAX_LIFE_MS = 1_500;

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
 * Writes until the service is killed at a random time.
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
  const record = ledger.record.bind(ledger);
  const writing = writeAnimals(service, key, `round ${round}`, record, killed.signal);
  await sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
  service.child.kill('SIGKILL');
  killed.abort();
  return writing;
}
