import type { LookupAddress } from 'node:dns';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedisClient, type RedisClient } from '../../src/rate-limit/redis.client';
import { freePort } from '../support/free-port';
import { describeWithRedis, spawnRedis, startRedis } from '../support/redis';
import { until } from '../support/until';

/** Long enough for a second attempt to connect. */
const ATTEMPTS_MS = 1_300;
const LAST_SLOT = 16_383;
const HERE: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }];

/** What a client asked the DNS, which does not answer before `answer` is called. */
function dns() {
  const asked: string[] = [];
  let answer: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (answer = resolve));
  const ask = async (host: string) => {
    asked.push(host);
    await gate;
    return HERE;
  };
  return { asked, ask, answer };
}

describeWithRedis('names of Redis', () => {
  let client: RedisClient;
  let names: ReturnType<typeof dns>;
  function connect(...urls: string[]): void {
    names = dns();
    client = createRedisClient(urls, names.ask);
    client.on('error', () => undefined);
    client.connect().catch(() => undefined);
  }
  afterEach(() => client.disconnect());

  it.each([
    ['one server', ['redis://a.example']],
    ['one server with TLS', ['rediss://a.example']],
    ['sentinels', ['redis://a.example?sentinel=store', 'redis://b.example']],
    ['sentinels with TLS', ['rediss://a.example?sentinel=store', 'rediss://b.example']],
    ['a cluster', ['redis://a.example', 'redis://b.example', 'redis://c.example']],
  ])(
    '(%s): of a DNS that does not answer one lookup is under way, however often it is tried',
    async (_, urls) => {
      connect(...urls);
      await sleep(ATTEMPTS_MS);
      expect(names.asked).toEqual(['a.example']);
    },
  );

  it('(one server): it is joined when the DNS answers, and asked again for the next connection', async () => {
    const redis = await startRedis();
    connect(`redis://a.example:${redis.port}`);
    await until(() => names.asked.length > 0);
    names.answer();
    await until(() => client.status === 'ready');
    client.disconnect(true);
    await until(() => names.asked.length > 1 && client.status === 'ready');
    expect(new Set(names.asked)).toEqual(new Set(['a.example']));
    await redis.stop();
  });

  it('(sentinels): both they and the master that they name are looked up', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'animal-store-redis-'));
    const master = await startRedis();
    const port = await freePort();
    const file = join(folder, 'sentinel.conf');
    const settings = ['bind 127.0.0.1', 'sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'];
    const monitor = `sentinel monitor store localhost ${master.port} 1`;
    writeFileSync(file, [`port ${port}`, ...settings, monitor, ''].join('\n'));
    const sentinel = await spawnRedis([file, '--sentinel']);
    connect(`redis://a.example:${port}?sentinel=store`);
    names.answer();
    await until(() => client.status === 'ready');
    expect(names.asked).toEqual(['a.example', 'localhost']);
    sentinel.kill('SIGKILL');
    await master.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('(a cluster): its nodes are found by name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'animal-store-redis-'));
    const bus = String(await freePort());
    const address = ['--cluster-port', bus, '--cluster-announce-ip', '127.0.0.1'];
    const node = await startRedis('--dir', folder, '--cluster-enabled', 'yes', ...address);
    await node.command('CLUSTER', 'ADDSLOTSRANGE', 0, LAST_SLOT);
    connect(`redis://a.example:${node.port}`, `redis://b.example:${node.port}`);
    names.answer();
    await until(() => client.status === 'ready');
    await until(async () => (await client.get('x').catch(() => 'not yet')) === null);
    expect(new Set(names.asked)).toEqual(new Set(['a.example', 'b.example']));
    await node.stop();
    rmSync(folder, { recursive: true, force: true });
  });
});
