import { execFileSync } from 'node:child_process';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { followHistories, PROGRAMS } from '../events/support/mirror';
import { type OwnServer, startOwnServer } from '../failure/support/own-server';
import { HELD_WITHOUT_ANIMAL, walkWithAnimals } from '../store-orders/support/animal-walks';
import { send } from '../support/http';
import { once as query } from '../support/once';
import { until } from '../support/until';
import { respondWith } from '../webhooks/support/receivers';
import { BuiltService } from './support/built-service';
import { FeedReader, settle } from './support/event-feed';
import { ALL_SCOPES, createKey } from './support/keys';
import { Load } from './support/load';

const KILLS = 4;
const WALKS = 16;
const HISTORIES = 4;
const MAX_STEPS = 14;
const STAFF = ['pets:read', 'pets:manage', 'orders:manage', 'events:read'];
const MAX_LIFE_MS = 1_500;
const MAX_OUTAGE_MS = 500;
const MAX_RECOVERY_MS = 2_000;

jest.setTimeout(3_600_000);

describe('two instances on a PostgreSQL with fsync on', () => {
  let server: OwnServer;
  let environment: Record<string, string>;
  let key: string;
  const instances: BuiltService[] = [];
  let turn = 0;
  const url = () => instances[turn++ % 2]!.url;
  beforeAll(async () => {
    server = await startOwnServer({ durable: true });
    environment = {
      DATABASE_URL: server.url(),
      LOG_LEVEL: 'silent',
      WEBHOOKS_ALLOW_PRIVATE: 'true',
      // A fast machine places more than the default between two SIGKILLs.
      ORDERS_MAX_OPEN_PER_ACCOUNT: '0',
    };
    for (let at = 0; at < 2; at += 1) instances.push(await BuiltService.start(environment));
    key = await createKey(environment, { scopes: ALL_SCOPES });
  });
  afterAll(async () => {
    for (const instance of instances) await instance.stop();
    await server.remove();
  });

  async function killServer(): Promise<void> {
    await server.kill();
    await sleep(Math.random() * MAX_OUTAGE_MS);
    await server.start();
  }

  it(`lose no acknowledged change, no event and no delivery over ${KILLS} SIGKILLs of PostgreSQL and the service under load`, async () => {
    const load = await Load.on(() => instances.map((each) => each.url), key);
    const recoveries: number[] = [];
    /** Kills both instances between a delivery and its record. */
    const killAtDelivery = async () => {
      load.receiver.respond = () => instances.forEach(({ child }) => child.kill('SIGKILL'));
      await until(() => instances.every(({ child }) => child.killed));
      load.receiver.respond = respondWith(200);
      await Promise.all(instances.map((each) => each.restart()));
    };
    const kills = [killServer, () => instances[0]!.restart(), killServer, killAtDelivery];
    load.start();
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = load.created.length;
      await until(() => load.created.length > before);
      await sleep(Math.random() * MAX_LIFE_MS);
      await kills[kill % kills.length]!();
      const backAt = performance.now();
      await until(() => load.created.at(-1)! > backAt);
      if (kills[kill % kills.length] === killServer)
        recoveries.push(load.created.find((at) => at > backAt)! - backAt);
    }
    await load.stop();
    const { details, ...found } = await load.compare(server.url());
    const [rows] = await query<{ animals: number; transactions: number }>(
      server.url(),
      'SELECT count(*)::int AS animals, count(DISTINCT xmin::text)::int AS transactions FROM pets',
    );
    const recoveryMs = Math.round(Math.max(...recoveries));
    process.stdout.write(`crashes: ${JSON.stringify({ kills: KILLS, ...found, ...rows, recoveryMs })}\n`);
    expect(details).toEqual([]);
    // Some creations were joined.
    expect(rows!.transactions).toBeLessThan(rows!.animals);
    expect(recoveryMs).toBeLessThan(MAX_RECOVERY_MS);
    await load.close();
  });

  it(`respond to ${WALKS} walks of buyers and staff as some order of the requests explains`, async () => {
    const keyOf = async (account: string, scopes: string[] = []) => ({
      key: await createKey(environment, { account, scopes }),
    });
    const subject = {
      buyers: [await keyOf('shop'), await keyOf('zoo'), await keyOf('farm')],
      staff: [await keyOf('the store', STAFF), await keyOf('the store', STAFF)],
      get url() {
        return url();
      },
    };
    await walkWithAnimals(subject, { numRuns: WALKS, maxSteps: MAX_STEPS });
    expect(await query(server.url(), HELD_WITHOUT_ANIMAL)).toEqual([]);
  });

  it(`are followed by the example mirrors, with and without each client, through ${HISTORIES} random histories with a kill`, async () => {
    execFileSync('npm', ['run', '-s', 'build:client'], { stdio: 'inherit' });
    // A mirror writes its whole copy after each change, and a fast machine has ten thousand animals by now.
    await query(server.url(), 'DELETE FROM store_orders; DELETE FROM pets');
    const urls = instances.map((instance) => instance.url);
    const store = { urls, key, query: (text: string) => query<never>(server.url(), text) };
    expect(await followHistories(store, HISTORIES, PROGRAMS)).toBe(HISTORIES);
  });

  it('have the events of transactions whose numbers PostgreSQL uses again after a SIGKILL', async () => {
    const reader = new FeedReader(url, key);
    const read = async () => {
      await settle(server.url());
      return (await reader.readAll()).map(({ data }) => (data as { name?: string }).name!);
    };
    const create = (name: string) =>
      until(async () => {
        const options = { key, body: { name, categoryId: 1 }, agent: new Agent() };
        return (await send(url(), 'POST', '/v1/pets', options)).status === 201;
      });
    const next = async () =>
      Number((await query<{ id: string }>(server.url(), 'SELECT pg_current_xact_id() AS id'))[0]!.id);
    await read();
    const seen: string[] = [];
    const names: string[] = [];
    // The service may commit a transaction of its own after them: then their numbers are on the disk.
    for (let isUsedAgain = false; !isUsedAgain;) {
      await query(
        server.url(),
        'DO $$ BEGIN FOR at IN 1..500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$',
      );
      const before = await next();
      seen.push(...(await read()));
      await killServer();
      isUsedAgain = (await next()) <= before;
      names.push(`animal ${names.length}`);
      await create(names.at(-1)!);
    }
    seen.push(...(await read()));
    expect(seen).toEqual(names);
  });
});
