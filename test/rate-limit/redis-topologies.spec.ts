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
const ACCOUNTS = 5;
const TINY = { plan: 'enterprise', perMinute: 10, perDay: 100 } as const;
const OFFERED = 3 * TINY.perMinute;

describeWithRedis('more than one Redis', () => {
  let folder: string;
  let cluster: Promise<RedisServer[]>;
  const servers: RedisServer[] = [];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'animal-store-redis-'));
    // A new cluster needs two seconds; the spec of sentinels runs in the meantime.
    cluster = startCluster();
    cluster.catch(() => undefined);
  });
  afterAll(async () => {
    await cluster.catch(() => undefined);
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(...settings: string[]): Promise<RedisServer> {
    const server = await startRedis('--dir', folder, ...settings);
    servers.push(server);
    return server;
  }
  /** @returns the nodes */
  async function startCluster(): Promise<RedisServer[]> {
    const nodes: RedisServer[] = [];
    const bus = await freePort();
    for (let at = 0; at < NODES; at += 1) {
      const port = String(at === 0 ? bus : await freePort());
      const files = ['--cluster-config-file', `nodes-${at}.conf`];
      const node = await start('--cluster-enabled', 'yes', '--cluster-port', port, ...files);
      const [from = 0, to = 0] = [at, at + 1].map((share) => Math.floor((share * SLOTS) / NODES));
      await node.command('CLUSTER', 'ADDSLOTSRANGE', from, to - 1);
      nodes.push(node);
      if (at > 0) await node.command('CLUSTER', 'MEET', '127.0.0.1', nodes[0]!.port, bus);
    }
    await until(async () => {
      const states = await Promise.all(nodes.map((node) => node.command('CLUSTER', 'INFO')));
      return states.every((state) => /cluster_state:ok[^]*cluster_known_nodes:3/.test(String(state)));
    });
    return nodes;
  }
  /** Expects that two instances admit exactly the limit of each account. */
  async function expectSharing(redisUrl: readonly string[]): Promise<void> {
    const first = await startApp({ redisUrl, redisTimeoutMs: 10_000 });
    const apps: TestApp[] = [first, await startApp({ redisUrl, redisTimeoutMs: 10_000 }, { beside: first })];
    for (let account = 0; account < ACCOUNTS; account += 1) {
      const { key } = await first.createKey({ choice: TINY });
      const asked = Array.from({ length: OFFERED }, (_, at) =>
        apps[at % 2]!.get('/v1/pets?limit=1', { key }),
      );
      const responses = await Promise.all(asked);
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(TINY.perMinute);
    }
    expect(apps.flatMap(({ log }) => log.filter((line) => line.includes('Redis is')))).toEqual([]);
    for (const app of apps.toReversed()) await app.close();
  }

  it('sentinels name the master, which gets the user, password and database of the URL', async () => {
    const master = await start();
    await master.command('ACL', 'SETUSER', 'till/1', 'on', '>p@ss:1', '~*', '+@all');
    const port = await freePort();
    const file = join(folder, 'sentinel.conf');
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\nsentinel monitor store 127.0.0.1 ${master.port} 1\n`);
    const sentinel = await spawnRedis([file, '--sentinel']);
    await expectSharing([`redis://till%2F1:p%40ss%3A1@127.0.0.1:${port}/7?sentinel=store`]);
    expect(String(await master.command('INFO', 'keyspace')).match(/db\d+/g)).toEqual(['db7']);
    // One for each charge, and one probe for each instance.
    expect(await master.calls('evalsha')).toBe(ACCOUNTS * OFFERED + 2);
    sentinel.kill('SIGKILL');
  });

  it('a cluster counts each account on one of its nodes, and is used again after an outage', async () => {
    const nodes = await cluster;
    const urls = nodes.map(({ port }) => `redis://127.0.0.1:${port}`);
    await expectSharing(urls);
    const counts = await Promise.all(nodes.map((node) => node.calls('evalsha')));
    expect(counts.filter((count) => count > 0).length).toBeGreaterThan(1);
    const app = await startApp({ redisUrl: urls });
    const isShared = () => app.nest.get(RateLimitStore, { strict: false }).isShared;
    for (const node of nodes) node.freeze();
    for (let at = 0; at < 5; at += 1) expect((await app.get('/v1/pets')).status).toBe(200);
    expect(isShared()).toBe(false);
    for (const node of nodes) node.thaw();
    await until(isShared);
    expect((await app.get('/v1/pets')).status).toBe(200);
    await app.close();
  });
});
