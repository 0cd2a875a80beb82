import { DEFAULT_SCOPES } from '../../../src/app/store';
import type { TestApp } from '../../support/app';

/** An account with a buyer's key. */
export interface Client {
  readonly account: string;
  readonly id: string;
  readonly key: string;
}

export async function newClient(app: TestApp, account: string): Promise<Client> {
  const { key } = await app.createKey({ account, scopes: DEFAULT_SCOPES });
  const [row] = await app.database.query<{ id: string }>('SELECT id FROM accounts WHERE name = $1', [
    account,
  ]);
  return { account, id: row!.id, key };
}

/** Adds `count` orders of each account to the table, the accounts in turn. Each order has an animal of its own. */
export async function fillOrders(
  app: TestApp,
  clients: readonly Client[],
  count: number,
  statuses: readonly string[] = ['placed'],
): Promise<void> {
  await app.database.query(
    `WITH orders AS (
       SELECT row_number() OVER (ORDER BY i, account) AS number, account,
              ($3::text[])[1 + i % cardinality($3::text[])] AS status
       FROM generate_series(1, $2) AS i, unnest($1::bigint[]) AS account),
     animals AS (
       INSERT INTO pets (name, category_id, status) SELECT 'ordered', number, 'pending' FROM orders RETURNING id),
     numbered AS (SELECT id, row_number() OVER (ORDER BY id) AS number FROM animals)
     INSERT INTO store_orders (account_id, pet_id, status, placed_at)
     SELECT account, numbered.id, status, now() FROM orders JOIN numbered USING (number) ORDER BY number`,
    [clients.map(({ id }) => id), count, statuses],
  );
}
