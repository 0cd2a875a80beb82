import { createServer } from 'node:http';
import { createSecret, storedFormOf } from '../src/auth/keys/secret';
import { freePort } from '../test/support/free-port';
import { once } from '../test/support/once';
import { rounded, type Table } from './figures';
import { type Load, loads } from './loads';
import type { Measure } from './options';
import { startServer } from './servers';
import { runObserved } from './sql';
import { fill, seedPets, tidyUp, UNLIMITED } from './world';

const PREFIX = 'ask_test_';

/** Measures each load with each number of animals, accounts and webhooks. */
export const measureGrowth: Measure = async ({ url }, options, say) => {
  const { accounts, pets, webhooks } = options.growth;
  const port = await freePort();
  let deliveries = 0;
  const receiver = createServer((request, response) => {
    deliveries += 1;
    request.resume().on('end', () => response.end());
  });
  receiver.listen(port, '127.0.0.1');
  // The table of animals only grows.
  const [first = 1, ...later] = pets.toSorted((one, other) => one - other);
  const store = await fill(url, first);
  const rows: Table['rows'][number][] = [];
  for (const count of [first, ...later]) {
    if (count > store.pets) await seedPets(url, count - store.pets);
    store.pets = count;
    for (const keys of accounts.map(createSecrets)) {
      await addAccounts(url, keys);
      for (const receivers of webhooks) {
        await replaceWebhooks(url, receivers, `http://127.0.0.1:${port}/`);
        await tidyUp(url);
        const server = await startServer('service', store, { WEBHOOKS_ALLOW_PRIVATE: 'true' });
        for (const load of options.only.map((name) => loads[name])) {
          deliveries = 0;
          const { seen, sum } = await runObserved(url, server, spread(load, keys), options);
          const figures = {
            load: load.title,
            animals: count,
            accounts: keys.length,
            webhooks: receivers,
            'requests/s': rounded(seen.perSecond, 0),
            deliveries: rounded(deliveries / seen.requests),
            buffers: rounded(sum.buffers / seen.requests),
          };
          rows.push(figures);
          say(JSON.stringify(figures));
        }
        await server.stop();
      }
    }
  }
  receiver.close();
  return { table: { title: `${options.connections} connections, ${options.seconds} s`, rows } };
};

const createSecrets = (count: number): string[] => Array.from({ length: count }, () => createSecret(PREFIX));

/** Adds an account for each secret of a key. */
async function addAccounts(url: string, secrets: readonly string[]): Promise<void> {
  const keys = secrets.map((secret) => storedFormOf(secret, PREFIX));
  const rows = keys.map(({ secretHash, lastFour }) => `('\\x${secretHash.toString('hex')}', '${lastFour}')`);
  await once(
    url,
    `WITH given AS (
       SELECT gen_random_uuid()::text AS name, hash::bytea, last_four FROM (VALUES ${rows.join()}) AS keys (hash, last_four)
     ), added AS (
       INSERT INTO accounts (name, plan, per_minute, per_day)
       SELECT name, 'enterprise', ${UNLIMITED}, ${UNLIMITED} FROM given RETURNING id, name
     )
     INSERT INTO api_keys (account_id, secret_hash, prefix, last_four, scopes)
     SELECT id, hash, '${PREFIX}', last_four, '{pets:read,pets:write}' FROM given JOIN added USING (name)`,
  );
}

/** Lets webhooks wait for the next event. The newest accounts have one each, if there are enough. */
async function replaceWebhooks(url: string, count: number, receiver: string): Promise<void> {
  await once(url, 'DELETE FROM webhooks');
  await once(
    url,
    `INSERT INTO webhooks (account_id, url, secret, created_at, updated_at, due_at, position)
     SELECT (SELECT max(id) - number % count(*) FROM accounts), '${receiver}', sha256(number::text::bytea),
       now(), now(), now(), (SELECT max(id) FROM events)
     FROM generate_series(0, ${count - 1}) AS number`,
  );
}

/** Sends the requests with each of the keys in turn. */
function spread(load: Load, keys: readonly string[]): Load {
  const requestsOf: Load['requests'] = (store) => {
    const requests = load.requests(store);
    const length = Math.max(requests.length, keys.length);
    return Array.from({ length }, (_, at) => ({
      ...requests[at % requests.length]!,
      key: keys[at % keys.length],
    }));
  };
  return { ...load, requests: requestsOf };
}
