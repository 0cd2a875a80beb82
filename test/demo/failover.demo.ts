import { setTimeout as sleep } from 'node:timers/promises';
import { createKey, ALL_SCOPES } from '../long/support/keys';
import { runBuilt, running, type RunningService } from '../support/service';
import { until } from '../support/until';
import { type Cluster, startCluster } from './support/cluster';
import { Load } from './support/load';

const INSTANCES = 2;
const WARM_UP_MS = 3_000;
/** For which a fault lasts after the first acknowledged change. */
const HOLD_MS = 3_000;
const STANDBYS_LOST_MS = 15_000;
const RECOVERY_MS = 90_000;

/** Each damages the primary or its standbys. @returns a function that repairs it */
const FAULTS: Record<string, (cluster: Cluster, primary: number) => () => void> = {
  /** PostgreSQL and Patroni of the primary are killed. */
  kill: (cluster, primary) => {
    cluster.signal(primary, 'SIGKILL');
    return () => cluster.startPatroni(primary);
  },
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
    for (const each of cluster.others(primary)) cluster.signal(each, 'SIGSTOP');
    const thaw = () => cluster.others(primary).forEach((each) => cluster.signal(each, 'SIGCONT'));
    setTimeout(thaw, STANDBYS_LOST_MS);
    return thaw;
  },
};

const { FAULTS: chosen = Object.keys(FAULTS).join(), ROUNDS = '1', THROUGH = 'hosts' } = process.env;
const through = THROUGH === 'haproxy' ? 'haproxy' : 'hosts';
const rounds = chosen
  .split(',')
  .flatMap((fault) => Array.from({ length: Number(ROUNDS) }, (_, at) => [fault, at + 1] as const));

const say = (...columns: (string | number)[]): void => {
  const [first, ...others] = columns.map((each) =>
    typeof each === 'string' ? each : each.toFixed(1).replace(/\.0$/, ''),
  );
  process.stdout.write(`${first!.padEnd(10)}${others.map((each) => each.padStart(13)).join('')}\n`);
};

jest.setTimeout(600_000);

describe(`${INSTANCES} instances on a cluster of three nodes, through ${through}`, () => {
  let cluster: Cluster;
  let load: Load;
  const instances: RunningService[] = [];

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.healthy();
    const environment = {
      DATABASE_URL: cluster.url(through),
      WEBHOOKS_ALLOW_PRIVATE: 'true',
      LOG_LEVEL: 'warn',
    };
    for (let at = 0; at < INSTANCES; at += 1)
      instances.push(await running(runBuilt('main', [], environment)));
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    load = await Load.on(
      instances.map(({ url }) => url),
      key,
    );
    process.stdout.write(
      `${cluster.version}, through ${through}; seconds without 201, and after the new primary\n`,
    );
    say(
      'fault',
      'round',
      'no 201 (s)',
      'after (s)',
      'acknowledged',
      'lost',
      'twice',
      'events',
      'deliveries',
      'flaps',
    );
  });
  afterAll(async () => {
    for (const { child, ended } of instances) {
      child.kill('SIGTERM');
      await ended;
    }
    await load?.close();
    cluster?.stop();
  });

  it.each(rounds)('lose no acknowledged change and no event: %s, round %i', async (fault, round) => {
    const primary = await cluster.healthy();
    load.start();
    await sleep(WARM_UP_MS);
    const before = performance.now();
    const repair = FAULTS[fault]!(cluster, primary);
    if (fault === 'standbys') await sleep(STANDBYS_LOST_MS);
    const next = fault === 'standbys' ? [primary] : cluster.others(primary);
    const writable = await cluster.writable(next);
    const created = () => load.created.find((each) => each > writable);
    await until(() => created() !== undefined, RECOVERY_MS).catch(() => undefined);
    await sleep(HOLD_MS);
    repair();
    await cluster.healthy();
    await sleep(HOLD_MS);
    await load.stop();
    const { details, ...found } = await load.compare(await cluster.primaryUrl());
    const after = (created() ?? Infinity) - writable;
    const flaps = load.flaps(before);
    const longest = longestGap(load.created, before);
    say(fault, round, longest / 1000, after / 1000, ...Object.values(found), flaps.length);
    for (const each of flaps) process.stdout.write(`  /readyz ${each}\n`);
    for (const { child } of instances) expect(child.exitCode).toBeNull();
    expect(details).toEqual([]);
  });
});

/** Returns the longest time without a success since `start`. */
function longestGap(times: readonly number[], start: number): number {
  const since = [start, ...times.filter((each) => each > start)];
  return Math.max(...since.slice(1).map((each, at) => each - since[at]!));
}
