import { setTimeout as sleep } from 'node:timers/promises';
import { startCuttingProxy } from '../failure/support/cutting-proxy';
import { once as query } from '../support/once';
import { hasPair, startPair } from '../failure/support/pair';
import { send } from '../support/http';
import { hasRedis, startRedis } from '../support/redis';
import { dataFolder } from '../support/service';
import { until } from '../support/until';
import { BuiltService } from './support/built-service';
import { ALL_SCOPES, createKey } from './support/keys';
import { median } from './support/median';

const INSTANCES = 2;
/** Rounds after a first one that was too slow; then the median decides. */
const REPEATS = 2;
const CLIENTS = 8;
const WARM_UP_MS = 2_000;
const OBSERVED_MS = 5_000;
const MAX_ALTERNATING_MS = 2_000;
const MAX_UNSHARED_MS = 5_000;
/** Requests in turn that instances with one counter count one after the other. */
const SHARED_TURNS = 6;

jest.setTimeout(600_000);

const missing = [hasPair ? [] : 'postgresql-15', hasRedis ? [] : 'redis-server'].flat();

describe(`${INSTANCES} instances, endpoints that keep connections to the old primary`, () => {
  it('leave it within 2 s, and share their limits again within 5 s', async () => {
    if (missing.length > 0) throw new Error(`${missing.join(', ')} not found`);
    const rounds = [await failOver()];
    const [{ alternatingMs, unsharedMs }] = rounds as [Figures];
    const repeats = alternatingMs < MAX_ALTERNATING_MS && unsharedMs < MAX_UNSHARED_MS ? 0 : REPEATS;
    for (let at = 0; at < repeats; at += 1) rounds.push(await failOver());
    process.stdout.write(`kept connections: ${JSON.stringify(rounds)}\n`);
    expect(median(rounds.map((each) => each.alternatingMs))).toBeLessThan(MAX_ALTERNATING_MS);
    expect(median(rounds.map((each) => each.unsharedMs))).toBeLessThan(MAX_UNSHARED_MS);
  });
});

interface Figures {
  /** From the new primary to the last response without success. */
  readonly alternatingMs: number;
  /** From the new master of Redis until the instances have one counter. */
  readonly unsharedMs: number;
}

/** Makes PostgreSQL read-only, and Redis a replica, under load. */
async function failOver(): Promise<Figures> {
  const pair = await startPair();
  const folder = dataFolder();
  const files = ['--dir', folder.path];
  const [old, promoted] = [await startRedis(...files), await startRedis(...files)] as const;
  const proxy = await startCuttingProxy(`redis://127.0.0.1:${old.port}`);
  const { host } = new URL(proxy.through(pair.primary.url));
  const environment = { DATABASE_URL: pair.database.url, REDIS_URL: `redis://${host}`, LOG_LEVEL: 'fatal' };
  const services: BuiltService[] = [];
  for (let at = 0; at < INSTANCES; at += 1) services.push(await BuiltService.start(environment));
  const urls = services.map(({ url }) => url);
  const key = await createKey(environment, { scopes: ALL_SCOPES });
  const other = await createKey(environment);

  const responses: [status: number, at: number][] = [];
  const over = new AbortController();
  const clients = Array.from({ length: INSTANCES * CLIENTS }, async (_, at) => {
    while (!over.signal.aborted) {
      const body = { name: `client ${at}`, categoryId: 1 };
      const { status } = await send(urls[at % INSTANCES]!, 'POST', '/v1/pets', { key, body });
      responses.push([status, performance.now()]);
    }
  });
  await sleep(WARM_UP_MS);
  await query(pair.primary.url, 'ALTER SYSTEM SET default_transaction_read_only = on');
  await query(pair.primary.url, 'SELECT pg_reload_conf()');
  pair.standby.promote();
  pair.proxy.leadTo(pair.standby.url);
  const ledAt = performance.now();
  await sleep(OBSERVED_MS);
  over.abort();
  await Promise.all(clients);
  const failures = responses.filter(([status]) => status !== 201);
  expect(failures.filter(([status]) => status !== 503)).toEqual([]);

  await promoted.command('REPLICAOF', '127.0.0.1', old.port);
  await until(async () => String(await promoted.command('INFO', 'replication')).includes('link_status:up'));
  await promoted.command('REPLICAOF', 'NO', 'ONE');
  proxy.leadTo(`redis://127.0.0.1:${promoted.port}`);
  await old.command('REPLICAOF', '127.0.0.1', promoted.port);
  const demotedAt = performance.now();
  const remaining = async (at: number) => {
    const { headers } = await send(urls[at % INSTANCES]!, 'GET', '/v1/pets?limit=1', { key: other });
    return Number(headers['x-ratelimit-remaining']);
  };
  await until(async () => {
    const first = await remaining(0);
    for (let turn = 1; turn < SHARED_TURNS; turn += 1)
      if ((await remaining(turn)) !== first - turn) return false;
    return (await promoted.calls('evalsha')) > SHARED_TURNS;
  });
  const unsharedMs = performance.now() - demotedAt;

  for (const service of services) await service.stop();
  await proxy.close();
  for (const each of [old, promoted]) await each.stop();
  await pair.remove();
  folder.remove();
  return {
    alternatingMs: Math.max(ledAt, ...failures.map(([, at]) => at)) - ledAt,
    unsharedMs,
  };
}
