import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedServer, startEmbedded } from '../../src/embedded-postgres';
import { type HttpResponse, send } from '../support/http';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer';
import { type RedisServer, startRedis } from '../support/redis';
import { runBuilt, running, type RunningService } from '../support/service';
import { until } from '../support/until';

const INSTANCES = 2;
const REQUESTS = 200;
/** Plan Free. */
const LIMIT = 60;

const say = (line: string) => process.stdout.write(`${line}\n`);

describe(`${INSTANCES} instances on one PostgreSQL, PgBouncer and Redis`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-demo-'));
  let postgres: EmbeddedServer;
  let pooler: PgBouncer;
  let redis: RedisServer;
  let environment: Record<string, string>;
  const instances: RunningService[] = [];

  beforeAll(async () => {
    const options = { dataDir: folder, durable: true };
    postgres = await startEmbedded(options);
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
    for (let at = 0; at < INSTANCES; at += 1)
      instances.push(await running(runBuilt('main', [], environment)));
    say(`PostgreSQL   embedded, data in ${folder}`);
    say(`PgBouncer    ${pooler.url('postgres')} (transaction mode)`);
    say(`Redis        ${environment['REDIS_URL']}`);
    for (const [at, { url }] of instances.entries()) say(`Instance ${at + 1}   ${url}`);
  });
  afterAll(async () => {
    for (const { child, ended } of instances) {
      child.kill('SIGTERM');
      await ended;
    }
    await redis.stop();
    await pooler.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
    say('Everything has stopped.');
  });

  async function createKey(account: string): Promise<string> {
    const command = runBuilt('cli/main', ['keys', 'create', '--account', account, '--json'], environment);
    expect(await command.ended).toBe(0);
    return (JSON.parse(command.standardOutput()) as { key: string }).key;
  }

  it('together admit exactly the limit of the plan', async () => {
    const key = await createKey('acme');
    const responses = await Promise.all(
      Array.from({ length: REQUESTS }, (_, at) =>
        send(instances[at % INSTANCES]!.url, 'GET', '/v1/pets', { key }),
      ),
    );
    const admitted = ({ status }: HttpResponse) => status === 200;
    say(
      `\n${REQUESTS} concurrent requests with one Free key (${LIMIT} per minute), alternating between the instances:`,
    );
    for (const [at, { url }] of instances.entries()) {
      const own = responses.filter((_, request) => request % INSTANCES === at);
      say(
        `  ${url}  200: ${own.filter(admitted).length}  429: ${own.filter((each) => !admitted(each)).length}`,
      );
    }
    const total = responses.filter(admitted).length;
    const refused = responses.find((each) => !admitted(each));
    say(`  admitted together: ${total}; Retry-After of a 429: ${refused?.headers['retry-after']} s`);
    expect(total).toBe(LIMIT);
  });

  it('count locally while Redis is unavailable, and share again after it returns', async () => {
    const key = await createKey('globex');
    await send(instances[0]!.url, 'GET', '/v1/pets', { key });
    await redis.kill();
    const alone = await Promise.all(instances.map(({ url }) => send(url, 'GET', '/v1/pets', { key })));
    say(
      `\nRedis is killed: ${alone.map(({ status }) => status).join(', ')} from the instances, which now count locally`,
    );
    expect(alone.map(({ status }) => status)).toEqual(instances.map(() => 200));
    await redis.start();
    const isShared = () => instances.every((each) => /share their counters again/.test(each.output()));
    // The first request after a failure tries the connection.
    await until(async () => {
      await Promise.all(instances.map(({ url }) => send(url, 'GET', '/v1/pets', { key })));
      return isShared();
    });
    say('Redis is available: every instance shares its counters again');
  });
});
