import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/free-port';
import { type RedisServer, spawnRedis, startRedis } from '../../support/redis';
import { until } from '../../support/until';

const NODES = 2;
const SLOTS = 16_384;
/** A new cluster needs two seconds. */
const CLUSTER_POLL_MS = 200;

/** The Redis servers, sentinels and clusters of a spec file. */
export class RedisServers {
  private readonly folder = mkdtempSync(join(tmpdir(), 'animal-store-redis-'));
  private readonly servers: RedisServer[] = [];
  private readonly sentinels: ChildProcess[] = [];

  /** @param settings further arguments of redis-server */
  async start(...settings: string[]): Promise<RedisServer> {
    const server = await startRedis('--dir', this.folder, ...settings);
    this.servers.push(server);
    return server;
  }

  /** Starts a sentinel of a master with the name `store`. @returns its port */
  async startSentinel(master: RedisServer): Promise<number> {
    const port = await freePort();
    const file = join(this.folder, `sentinel-${port}.conf`);
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\nsentinel monitor store 127.0.0.1 ${master.port} 1\n`);
    this.sentinels.push(await spawnRedis([file, '--sentinel']));
    return port;
  }

  /** @returns the nodes */
  async startCluster(): Promise<RedisServer[]> {
    const nodes: RedisServer[] = [];
    const bus = await freePort();
    for (let at = 0; at < NODES; at += 1) {
      const port = String(at === 0 ? bus : await freePort());
      const files = ['--cluster-config-file', `nodes-${port}.conf`];
      const node = await this.start('--cluster-enabled', 'yes', '--cluster-port', port, ...files);
      const [from = 0, to = 0] = [at, at + 1].map((share) => Math.floor((share * SLOTS) / NODES));
      await node.command('CLUSTER', 'ADDSLOTSRANGE', from, to - 1);
      nodes.push(node);
      if (at > 0) await node.command('CLUSTER', 'MEET', '127.0.0.1', nodes[0]!.port, bus);
    }
    await until(async () => {
      await sleep(CLUSTER_POLL_MS);
      const states = await Promise.all(nodes.map((node) => node.command('CLUSTER', 'INFO')));
      return states.every((state) => /cluster_state:ok[^]*cluster_known_nodes:2/.test(String(state)));
    });
    return nodes;
  }

  async stop(): Promise<void> {
    for (const sentinel of this.sentinels) sentinel.kill('SIGKILL');
    await Promise.all(this.servers.map((server) => server.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
