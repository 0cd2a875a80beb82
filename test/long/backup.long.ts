import { rmSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataFolder, runBuilt, running } from '../support/service';
import { ALL_SCOPES, createKey } from './support/keys';
import { AnimalLedger, type AnimalState } from './support/ledger';
import { allNames, WRITERS, writeAnimals } from './support/writers';

const DRILLS = 5;
const SEEDED = 20_000;
const MIN_LOAD_MS = 200;
const MAX_LOAD_MS = 1_500;

/** An acknowledged write. */
interface Write {
  readonly name: string;
  readonly became: AnimalState;
  readonly acknowledgedAt: number;
}

jest.setTimeout(DRILLS * 120_000);

describe('a backup of the built service under load', () => {
  const file = dataFolder();
  const folders = Array.from({ length: DRILLS + 1 }, dataFolder);
  afterAll(() => {
    for (const { remove } of [file, ...folders]) remove();
  });

  async function command(args: readonly string[], drill: number): Promise<string> {
    const run = runBuilt('cli/main', args, environmentOf(drill));
    if ((await run.ended) !== 0) throw new Error(run.output());
    return run.standardOutput();
  }

  const environmentOf = (drill: number) => ({ DATA_DIR: folders[drill]!.path, LOG_LEVEL: 'silent' });

  it(`restores every write that was acknowledged before its snapshot, in ${DRILLS} drills with ${WRITERS} writers`, async () => {
    await command(['seed', '--pets', `${SEEDED}`], 0);
    const key = await createKey(environmentOf(0), { scopes: ALL_SCOPES });
    const figures = { before: 0, after: 0, seconds: 0, bytes: 0 };
    const faults: string[] = [];
    let kept = SEEDED;
    for (let drill = 1; drill <= DRILLS; drill += 1) {
      const backup = `${file.path}/${drill}`;
      const { writes, createdAt } = await backUpUnderLoad(drill - 1, key, backup);
      figures.bytes = statSync(backup).size;
      const start = performance.now();
      await command(['db', 'restore', backup], drill);
      figures.seconds += (performance.now() - start) / 1_000;
      const service = await running(runBuilt('main', [], environmentOf(drill)));
      const stored = await allNames(service, key);
      service.child.kill('SIGTERM');
      expect(await service.ended).toBe(0);

      const ledger = new AnimalLedger();
      for (const { name, became, acknowledgedAt } of writes) {
        // The snapshot may also have later writes.
        const isBefore = acknowledgedAt < createdAt;
        figures[isBefore ? 'before' : 'after'] += 1;
        ledger.record(name, became, isBefore ? 'done' : 'unknown');
      }
      const ofThisDrill = stored.filter((name) => name.startsWith(prefixOf(drill - 1)));
      faults.push(...ledger.faults(ofThisDrill));
      expect(stored.length - ofThisDrill.length).toBe(kept);
      kept = stored.length;
    }
    const seconds = (figures.seconds / DRILLS).toFixed(1);
    process.stdout.write(
      `backup: ${DRILLS} drills, ${figures.before} writes acknowledged before the snapshots, ${figures.after} later; ` +
        `last backup ${kept} animals in ${figures.bytes} bytes, mean restore ${seconds} s; not as acknowledged ${faults.length}\n`,
    );
    expect(faults).toEqual([]);
    expect(figures.before).toBeGreaterThan(DRILLS * WRITERS);
    expect(figures.after).toBeGreaterThan(DRILLS);
  });

  /** Writes before, during and after a backup. Then kills the service and deletes its data. */
  async function backUpUnderLoad(
    drill: number,
    key: string,
    backup: string,
  ): Promise<{ writes: readonly Write[]; createdAt: number }> {
    const service = await running(runBuilt('main', [], environmentOf(drill)));
    const writes: Write[] = [];
    const stopped = new AbortController();
    const record = (name: string, became: AnimalState) =>
      writes.push({ name, became, acknowledgedAt: Date.now() });
    const writing = writeAnimals(service, key, prefixOf(drill), record, stopped.signal);
    await sleep(MIN_LOAD_MS + Math.random() * (MAX_LOAD_MS - MIN_LOAD_MS));
    const printed = await command(['db', 'backup', backup, '--json'], drill);
    stopped.abort();
    await writing;
    service.child.kill('SIGKILL');
    await service.ended;
    rmSync(folders[drill]!.path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    const { createdAt } = JSON.parse(printed) as { createdAt: string };
    return { writes, createdAt: Date.parse(createdAt) };
  }
});

function prefixOf(drill: number): string {
  return `drill ${drill} `;
}
