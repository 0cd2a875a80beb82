import { setTimeout as sleep } from 'node:timers/promises';
import { BuiltService } from '../long/support/built-service';
import { createKey, ALL_SCOPES } from '../long/support/keys';
import { Load } from '../long/support/load';
import { until } from '../support/until';
import { Cluster } from './support/cluster';

const INSTANCES = 2;
const WARM_UP_MS = 3_000;
/** For which a fault lasts after the first acknowledged change. */
const HOLD_MS = 3_000;
const STANDBYS_LOST_MS = 15_000;
const RECOVERY_MS = 90_000;

/** Each damages the primary or its standbys. @returns a function that repairs it */
const FAULTS: Record<string, (cluster: Cluster, primary: number) => () => void> = {
  kill: (cluster, primary) => {
    cluster.signal(primary, 'SIGKILL');
    return () => cluster.startPatroni(primary);
  },
  /** PostgreSQL continues without Patroni, which systemd would start again. */
  patroni: (cluster, primary) => {
    cluster.signal(primary, 'SIGKILL', true);
    return () => cluster.startPatroni(primary);
  },
  switchover: (cluster, primary) => {
    const done = cluster.switchOver(primary);
    return () => void done;
  },
  freeze: (cluster, primary) => {
    cluster.signal(primary, 'SIGSTOP');
    return () => cluster.signal(primary, 'SIGCONT');
  },
  /** The primary loses etcd. */
  partition: (cluster, primary) => cluster.cutOff(primary, false),
  /** The primary loses etcd, and all others lose the primary. */
  isolation: (cluster, primary) => cluster.cutOff(primary, true),
  /** Both standbys freeze. */
  standbys: (cluster, primary) => {
    for (const each of cluster.standbys(primary)) cluster.signal(each, 'SIGSTOP');
    const thaw = () => cluster.standbys(primary).forEach((each) => cluster.signal(each, 'SIGCONT'));
    setTimeout(thaw, STANDBYS_LOST_MS);
    return thaw;
  },
};

// FAULTS=kill,freeze selects faults, ROUNDS=5 repeats each.
const { FAULTS: chosen = Object.keys(FAULTS).join(), ROUNDS = '1' } = process.env;
const rounds = chosen
  .split(',')
  .flatMap((fault) => Array.from({ length: Number(ROUNDS) }, (_, at) => [fault, at + 1] as const));

jest.setTimeout(600_000);

describe(`${INSTANCES} instances on a cluster of three nodes, through HAProxy`, () => {
  const cluster = new Cluster();
  let load: Load;
  const instances: BuiltService[] = [];

  beforeAll(async () => {
    await cluster.start();
    await cluster.healthy();
    const environment = {
      DATABASE_URL: cluster.url(),
      WEBHOOKS_ALLOW_PRIVATE: 'true',
      // A fast machine places more than the default in a few rounds.
      ORDERS_MAX_OPEN_PER_ACCOUNT: '0',
      LOG_LEVEL: 'warn',
    };
    for (let at = 0; at < INSTANCES; at += 1) instances.push(await BuiltService.start(environment));
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    load = await Load.on(() => instances.map(({ url }) => url), key);
  });
  afterAll(async () => {
    for (const instance of instances) await instance.stop();
    await load?.close();
    cluster.stop();
  });

  it.each(rounds)('lose no acknowledged change and no event: %s, round %i', async (fault, round) => {
    const primary = await cluster.healthy();
    load.start();
    await sleep(WARM_UP_MS);
    const before = performance.now();
    const repair = FAULTS[fault]!(cluster, primary);
    if (fault === 'standbys') await sleep(STANDBYS_LOST_MS);
    const next = fault === 'standbys' ? [primary] : cluster.standbys(primary);
    const writable = await cluster.writable(next);
    const created = () => load.created.find((each) => each > writable);
    await until(() => created() !== undefined, RECOVERY_MS).catch(() => undefined);
    await sleep(HOLD_MS);
    repair();
    await cluster.healthy();
    await sleep(HOLD_MS);
    await load.stop();
    const { details, ...found } = await load.compare(cluster.urlOn(await cluster.healthy()));
    const after = (created() ?? Infinity) - writable;
    const longest = longestGap(load.created, before);
    // No 201 for these times: in all, and after the new primary could commit.
    const figures = { no201Ms: Math.round(longest), afterMs: Math.round(after), ...found };
    process.stdout.write(`${fault} ${round}: ${JSON.stringify(figures)}\n`);
    for (const { child } of instances) expect(child.exitCode).toBeNull();
    expect(details).toEqual([]);
    expect(after).toBeLessThan(RECOVERY_MS);
  });
});

/** Returns the longest time without a success since `start`. */
function longestGap(times: readonly number[], start: number): number {
  const since = [start, ...times.filter((each) => each > start)];
  return Math.max(...since.slice(1).map((each, at) => each - since[at]!));
}
