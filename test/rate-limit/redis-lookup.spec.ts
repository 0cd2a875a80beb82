import type { LookupAddress } from 'node:dns';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { Logger } from '@nestjs/common';
import { RedisConnector } from '../../src/rate-limit/redis.connector';
import { RedisLink } from '../../src/rate-limit/redis.link';
import { rulesOf } from '../../src/rate-limit/redis.script';
import { freePort } from '../support/free-port';
import { describeWithRedis, spawnRedis, startRedis } from '../support/redis';
import { until } from '../support/until';

const HASTY = { retryDelayMs: 1, connectLimitMs: 20 };
const TIMEOUT_MS = 10_000;
const RULES = rulesOf({ strikes: 0, seconds: 0 });
const LAST_SLOT = 16_383;
const HERE: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }];

/** Records the lookups of a link. The DNS responds to none of them before `respond` is called. */
function dns() {
  const asked: string[] = [];
  let respond: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (respond = resolve));
  const ask = async (host: string) => {
    asked.push(host);
    await gate;
    return HERE;
  };
  return { asked, ask, respond };
}

describeWithRedis('the host names of Redis', () => {
  let link: RedisLink;
  let names: ReturnType<typeof dns>;
  let attempts: jest.SpyInstance;
  function open(urls: readonly string[], { retryDelayMs, connectLimitMs }: Partial<typeof HASTY> = {}): void {
    names = dns();
    const connector = new RedisConnector(urls, names.ask, connectLimitMs);
    attempts = jest.spyOn(connector, 'connect');
    link = new RedisLink(connector, TIMEOUT_MS, RULES, retryDelayMs);
    void link.open();
  }
  beforeAll(() => Logger.overrideLogger(false));
  afterEach(() => link.close());

  it.each([
    ['one server', ['redis://a.example']],
    ['one server with TLS', ['rediss://a.example']],
    ['sentinels', ['redis://a.example?sentinel=store', 'redis://b.example']],
    ['sentinels with TLS', ['rediss://a.example?sentinel=store', 'rediss://b.example']],
    ['a cluster', ['redis://a.example', 'redis://a.example:7000']],
    ['a cluster with TLS', ['rediss://a.example', 'rediss://a.example:7000']],
  ])('(%s): attempts to connect share one lookup while the DNS does not respond', async (_, urls) => {
    open(urls, HASTY);
    await until(() => attempts.mock.calls.length > 3);
    expect(names.asked).toEqual(['a.example']);
  });

  it('(a cluster): one lookup at a time is under way while the DNS does not respond', async () => {
    open(['redis://a.example', 'redis://b.example', 'redis://c.example'], HASTY);
    await until(() => attempts.mock.calls.length > 3);
    expect(names.asked).toHaveLength(1);
  });

  it('(one server): is used when the DNS responds, and is looked up again for the next connection', async () => {
    const redis = await startRedis();
    open([`redis://a.example:${redis.port}`]);
    await until(() => names.asked.length > 0);
    names.respond();
    await until(() => link.isShared);
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(() => names.asked.length > 1 && link.isShared);
    expect(new Set(names.asked)).toEqual(new Set(['a.example']));
    await redis.stop();
  });

  it('(sentinels): the sentinels and their master are looked up', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'animal-store-redis-'));
    const master = await startRedis();
    const port = await freePort();
    const file = join(folder, 'sentinel.conf');
    const settings = ['bind 127.0.0.1', 'sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'];
    const monitor = `sentinel monitor store localhost ${master.port} 1`;
    writeFileSync(file, [`port ${port}`, ...settings, monitor, ''].join('\n'));
    const sentinel = await spawnRedis([file, '--sentinel']);
    open([`redis://a.example:${port}?sentinel=store`]);
    names.respond();
    await until(() => link.isShared);
    expect(names.asked).toEqual(['a.example', 'localhost']);
    sentinel.kill('SIGKILL');
    await master.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('(sentinels with TLS): connects by TLS to the sentinel and to the master that it names', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'animal-store-redis-'));
    const master = await startRedis();
    const port = await freePort();
    const file = join(folder, 'sentinel.conf');
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\nsentinel monitor store 127.0.0.1 ${master.port} 1\n`);
    const sentinel = await spawnRedis([file, '--sentinel']);
    const ports: unknown[] = [];
    // The servers have no certificate, so the bytes are sent without encryption.
    const plainly = (options: { port: number; host: string }) => {
      ports.push(options.port);
      const socket = createConnection({ port: options.port, host: options.host });
      return socket.once('connect', () => socket.emit('secureConnect'));
    };
    const connectTls = jest.spyOn(tls, 'connect').mockImplementation(plainly as never);
    open([`rediss://127.0.0.1:${port}?sentinel=store`]);
    names.respond();
    await until(() => link.isShared);
    connectTls.mockRestore();
    expect(ports).toEqual(expect.arrayContaining([port, master.port]));
    sentinel.kill('SIGKILL');
    await master.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('(a cluster): its nodes are looked up', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'animal-store-redis-'));
    const bus = String(await freePort());
    const name = [
      '--cluster-announce-hostname',
      'node.example',
      '--cluster-preferred-endpoint-type',
      'hostname',
    ];
    const cluster = ['--cluster-enabled', 'yes', '--cluster-port', bus, ...name];
    const node = await startRedis('--dir', folder, ...cluster);
    await node.command('CLUSTER', 'ADDSLOTSRANGE', 0, LAST_SLOT);
    open([`redis://a.example:${node.port}`, `redis://a.example:${node.port}`]);
    names.respond();
    await until(() => link.isShared);
    expect(new Set(names.asked)).toEqual(new Set(['a.example', 'node.example']));
    await node.stop();
    rmSync(folder, { recursive: true, force: true });
  });
});
