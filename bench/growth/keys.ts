import { join } from 'node:path';
import { Client } from 'pg';
import { createSecret, hashOf } from '../../src/accounts/secret';
import type { Options } from '../options';
import { cpuSeconds, memoryMiB } from '../process-facts';
import { serviceList } from '../requests';
import { startServer } from '../servers';
import { medianOf } from '../statistics';
import type { Table } from '../table';
import { runCli, seedPets, UNLIMITED, type World } from '../world';
import { runLoad, writeRequests } from '../load-generator';
import type { Say } from './growth';

const ACTIVE = [10, 100, 1_000, 10_000, 100_000];
const MOST = 100_000;
const PETS = 1_000;
const WARM_UP_SECONDS = 3;

const ACCOUNTS = `
  INSERT INTO accounts (name, plan, per_minute, per_day)
  SELECT 'bench ' || i, 'enterprise', $1, $1 FROM generate_series(1, $2::integer) AS i`;
const KEYS = `
  INSERT INTO api_keys (account_id, secret_hash, prefix, last_four, scopes)
  SELECT a.id, decode(h.hash, 'hex'), 'ask_test_', 'XXXX', '{pets:read}'
  FROM unnest($1::text[]) WITH ORDINALITY AS h (hash, i) JOIN accounts a ON a.name = 'bench ' || h.i`;

/** Measures requests with alternating keys, each of its own account. The key cache and the windows hold all of them. */
export async function measureKeys(world: World, options: Options, say: Say): Promise<Table> {
  await world.createDatabase('keys');
  const url = world.urlOf('keys');
  say(await seedPets(url, PETS));
  const secrets = await createKeys(url);
  const rows: string[][] = [];
  for (const active of ACTIVE) {
    const file = join(world.folder, `keys-${active}.txt`);
    const path = serviceList({});
    writeRequests(
      file,
      secrets.slice(0, active).map((key) => ({ method: 'GET', path, key })),
    );
    const server = await startServer('service', { DATABASE_URL: url });
    const perSecond: number[] = [];
    const cpu: number[] = [];
    const run = { url: server.url, file, connections: options.connections, expectErrors: false };
    await runLoad({ ...run, seconds: WARM_UP_SECONDS });
    for (let round = 0; round < options.rounds; round += 1) {
      const before = cpuSeconds(server.pid);
      const seen = await runLoad({ ...run, seconds: options.seconds });
      perSecond.push(seen.perSecond);
      cpu.push((cpuSeconds(server.pid) - before) / (seen.requests / 1_000));
    }
    const { now } = memoryMiB(server.pid);
    rows.push([
      String(active),
      'service',
      medianOf(perSecond).toFixed(0),
      medianOf(cpu).toFixed(3),
      now.toFixed(0),
    ]);
    say(`${active} keys: ${medianOf(perSecond).toFixed(0)} requests/s`);
    await server.stop();
  }
  return {
    title: `Active keys, each of an account of its own, ${options.connections} connections, the first page`,
    headings: ['active keys', 'server', 'requests/s', 'CPU s/1000', 'memory MiB'],
    rows,
  };
}

async function createKeys(url: string): Promise<string[]> {
  await runCli(url, 'db', 'migrate');
  const secrets = Array.from({ length: MOST }, () => createSecret('ask_test_'));
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN; SET LOCAL statement_timeout = 0');
  await client.query(ACCOUNTS, [UNLIMITED, MOST]);
  await client.query(KEYS, [secrets.map(hashOf)]);
  await client.query('COMMIT');
  await client.query('ANALYZE');
  await client.end();
  return secrets;
}
