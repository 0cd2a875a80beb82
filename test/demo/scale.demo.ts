import { type EmbeddedServer, startEmbedded } from '../../src/embedded-postgres';
import { BuiltService } from '../long/support/built-service';
import { createKey } from '../long/support/keys';
import { send } from '../support/http';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer';
import { type RedisServer, startRedis } from '../support/redis';
import { dataFolder } from '../support/service';

const INSTANCES = 2;
const REQUESTS = 200;
const PER_MINUTE = 60;

const say = (line: string) => process.stdout.write(`${line}\n`);

describe(`${INSTANCES} instances on one PostgreSQL, PgBouncer and Redis`, () => {
  const folder = dataFolder();
  let postgres: EmbeddedServer;
  let pooler: PgBouncer;
  let redis: RedisServer;
  let environment: Record<string, string>;
  const instances: BuiltService[] = [];

  beforeAll(async () => {
    postgres = await startEmbedded({ dataDir: folder.path, durable: true });
    pooler = await startPgBouncer(postgres.url());
    redis = await startRedis();
    environment = {
      DATABASE_URL: pooler.url('postgres'),
      DATABASE_PREPARED_STATEMENTS: 'false',
      REDIS_URL: redis.url(),
      // A busy machine must not make an instance count locally.
      REDIS_TIMEOUT_MS: '60000',
      LOG_LEVEL: 'warn',
    };
    for (let at = 0; at < INSTANCES; at += 1) instances.push(await BuiltService.start(environment));
    say(`PostgreSQL in ${folder.path}, PgBouncer at ${pooler.url('postgres')}, Redis at ${redis.url()}`);
  });
  afterAll(async () => {
    for (const instance of instances) await instance.stop();
    await redis.stop();
    await pooler.stop();
    await postgres.stop();
    folder.remove();
  });

  it('together admit exactly the limit of a key', async () => {
    const key = await createKey(environment, { perMinute: PER_MINUTE });
    const statuses = await Promise.all(
      Array.from({ length: REQUESTS }, async (_, at) => {
        const { status } = await send(instances[at % INSTANCES]!.url, 'GET', '/v1/pets', { key });
        return status;
      }),
    );
    const admittedBy = (instance: number) =>
      statuses.filter((status, at) => status === 200 && at % INSTANCES === instance).length;
    say(`${REQUESTS} concurrent requests, alternating between the instances, ${PER_MINUTE} a minute:`);
    for (const [at, { url }] of instances.entries()) say(`  ${url}  200: ${admittedBy(at)}`);
    expect(statuses.filter((status) => status === 200)).toHaveLength(PER_MINUTE);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });
});
