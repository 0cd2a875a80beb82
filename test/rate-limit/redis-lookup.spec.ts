import type { LookupAddress } from 'node:dns';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRedisClient, type RedisClient } from '../../src/rate-limit/redis.client';
import { freePort } from '../support/free-port';
import { describeWithRedis, spawnRedis, startRedis } from '../support/redis';
import { until } from '../support/until';

const HASTY = { retryDelayMs: 1, connectLimitMs: 20 };
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
  let failures = 0;
  function create(urls: readonly string[], pace?: typeof HASTY): void {
    names = dns();
    failures = 0;
    client = createRedisClient(urls, names.ask, pace);
    client.on('error', () => (failures += 1));
  }
  const connect = () => void client.connect().catch(() => undefined);
  afterEach(() => client.disconnect());

  it.each([
    ['one server', ['redis://a.example']],
    ['one server with TLS', ['rediss://a.example']],
    ['sentinels', ['redis://a.example?sentinel=store', 'redis://b.example']],
    ['sentinels with TLS', ['rediss://a.example?sentinel=store', 'rediss://b.example']],
  ])('(%s): attempts to connect share one lookup while the DNS does not answer', async (_, urls) => {
    create(urls, HASTY);
    connect();
    await until(() => failures > 2);
    expect(names.asked).toEqual(['a.example']);
  });

  it('(a cluster): attempts to connect share one lookup while the DNS does not answer', async () => {
    create(['redis://a.example', 'redis://b.example', 'redis://c.example'], HASTY);
    connect();
    await until(() => names.asked.length > 0);
    client.disconnect();
    // A cluster asks for all of its names in the moment that it connects.
    connect();
    expect(names.asked).toEqual(['a.example']);
  });

  it('(one server): it is joined when the DNS answers, and asked again for the next connection', async () => {
    const redis = await startRedis();
    create([`redis://a.example:${redis.port}`]);
    connect();
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
    create([`redis://a.example:${port}?sentinel=store`]);
    connect();
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
    // Redis takes two seconds to call a new cluster healthy.
    const reads = ['--cluster-allow-reads-when-down', 'yes'];
    const node = await startRedis('--dir', folder, '--cluster-enabled', 'yes', ...address, ...reads);
    await node.command('CLUSTER', 'ADDSLOTSRANGE', 0, LAST_SLOT);
    create([`redis://a.example:${node.port}`, `redis://b.example:${node.port}`]);
    connect();
    names.answer();
    await until(() => client.status === 'ready');
    await until(async () => (await client.get('x').catch(() => 'not yet')) === null);
    expect(new Set(names.asked)).toEqual(new Set(['a.example', 'b.example']));
    await node.stop();
    rmSync(folder, { recursive: true, force: true });
  });
});
