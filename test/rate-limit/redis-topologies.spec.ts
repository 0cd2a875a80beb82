import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RateLimitStore } from '../../src/rate-limit';
import { startApp, type TestApp } from '../support/app';
import { freePort } from '../support/free-port';
import { describeWithRedis, type RedisServer, spawnRedis, startRedis } from '../support/redis';
import { until } from '../support/until';

const NODES = 3;
const SLOTS = 16_384;
const LIMIT = 60;
const FREE = { plan: 'free', perMinute: null, perDay: null } as const;

describeWithRedis('more than one Redis', () => {
  let folder: string;
  const servers: RedisServer[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'animal-store-redis-'));
  });
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(...settings: string[]): Promise<RedisServer> {
    const server = await startRedis('--dir', folder, ...settings);
    servers.push(server);
    return server;
  }
  /** @returns the URLs of its nodes */
  async function startCluster(): Promise<string[]> {
    const buses: number[] = [];
    for (let at = 0; at < NODES; at += 1) {
      buses.push(await freePort());
      const files = ['--cluster-config-file', `nodes-${at}.conf`];
      const node = await start('--cluster-enabled', 'yes', '--cluster-port', String(buses[at]), ...files);
      const [from = 0, to = 0] = [at, at + 1].map((share) => Math.floor((share * SLOTS) / NODES));
      await node.command('CLUSTER', 'ADDSLOTSRANGE', from, to - 1);
      if (at > 0) await node.command('CLUSTER', 'MEET', '127.0.0.1', servers[0]!.port, buses[0]!);
    }
    await until(async () => {
      const states = await Promise.all(servers.map((node) => node.command('CLUSTER', 'INFO')));
      return states.every((state) => /cluster_state:ok[^]*cluster_known_nodes:3/.test(String(state)));
    });
    return servers.map(({ port }) => `redis://127.0.0.1:${port}`);
  }
  /** Two instances admit exactly the limit of each account, and share. */
  async function expectSharing(redisUrl: readonly string[]): Promise<void> {
    const first = await startApp({ redisUrl, redisTimeoutMs: 10_000 });
    const apps: TestApp[] = [first, await startApp({ redisUrl, redisTimeoutMs: 10_000 }, { beside: first })];
    for (let account = 0; account < 5; account += 1) {
      const { key } = await first.createKey({ choice: FREE });
      const asked = Array.from({ length: 2 * LIMIT }, (_, at) =>
        apps[at % 2]!.get('/v1/pets?limit=1', { key }),
      );
      const answers = await Promise.all(asked);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
    }
    expect(apps.flatMap(({ log }) => log.filter((line) => line.includes('Redis is')))).toEqual([]);
    for (const app of apps.toReversed()) await app.close();
  }

  it('a cluster counts each account on one of its nodes, and is joined again when it was away', async () => {
    const urls = await startCluster();
    await expectSharing(urls);
    const counts = await Promise.all(servers.map((node) => node.calls('evalsha')));
    expect(counts.filter((count) => count > 0).length).toBeGreaterThan(1);
    const app = await startApp({ redisUrl: urls });
    const isShared = () => app.nest.get(RateLimitStore, { strict: false }).isShared;
    for (const node of servers) node.freeze();
    for (let at = 0; at < 5; at += 1) expect((await app.get('/v1/pets')).status).toBe(200);
    expect(isShared()).toBe(false);
    for (const node of servers) node.thaw();
    await until(isShared);
    expect((await app.get('/v1/pets')).status).toBe(200);
    await app.close();
  });

  it('sentinels are asked for the master, on which the database is the one of the URL', async () => {
    const master = await start();
    const port = await freePort();
    const file = join(folder, 'sentinel.conf');
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\nsentinel monitor store 127.0.0.1 ${master.port} 1\n`);
    const sentinel = await spawnRedis([file, '--sentinel']);
    await expectSharing([`redis://127.0.0.1:${port}/7?sentinel=store`]);
    expect(String(await master.command('INFO', 'keyspace')).match(/db\d+/g)).toEqual(['db7']);
    // Besides each charge one probe of each instance.
    expect(await master.calls('evalsha')).toBe(5 * 2 * LIMIT + 2);
    sentinel.kill('SIGKILL');
  });
});
