import { Client } from 'pg';
import { accountPages, auditPages } from '../src/accounts/accounts.repository';
import { EVENT_TYPES } from '../src/events';
import { READ } from '../src/events/events.repository';
import { petPages } from '../src/pets/pets.repository';
import { migrate } from '../src/platform/database/migrate';
import { type Sort, SortedPageQuery } from '../src/platform/paging/page';
import { MAX_INT64, MIN_INT64 } from '../src/platform/validation/int64';
import { orderPages } from '../src/store-orders/store-orders.repository';
import { webhookPages } from '../src/webhooks/webhooks.repository';
import { schemaConfig } from '../test/support/schema-config';
import type { Table } from './figures';
import type { Options } from './options';
import type { World } from './world';

/** A page has the default number of items; its statement reads one more. */
const ROWS = 21;
const WORST = 10;
const GROUPS = [/^(?!.*petId)/, /petId/];
const EVENTS = 500_000;
/** Account 1 has half of the orders and of their events, and the others have the rest. */
const ACCOUNTS = [undefined, 1n, 78n] as const;
const STATUSES = {
  pets: [undefined, ['available'], ['pending'], ['sold'], ['available', 'pending', 'sold']],
  orders: [
    undefined,
    ['placed'],
    ['approved'],
    ['delivered'],
    ['placed', 'approved', 'delivered', 'cancelled'],
  ],
};
const OF_ORDERS = EVENT_TYPES.filter((type) => type.startsWith('order.'));

/** The lists with what their requests may give, all of which are combined. */
const LISTS = [
  [petPages, { categoryId: [undefined, 7n, 25n], status: STATUSES.pets, id: [undefined, [7n, 999_999n]] }],
  [orderPages, { accountId: ACCOUNTS, status: STATUSES.orders, petId: [undefined, 1n, 7n] }],
  [webhookPages, { accountId: ACCOUNTS }],
  [accountPages, {}],
  [auditPages, { account: [undefined, 'acc1', 'none'] }],
] as const;

const fill = (pets: number) => `
  SET statement_timeout = 0; SET animal_store.events = 'off';
  INSERT INTO accounts (name, plan) SELECT 'acc' || n, 'free' FROM generate_series(1, 2000) AS n;
  INSERT INTO pets (name, category_id, status)
  SELECT 'Rex', 1 + n / 10 % 24, CASE WHEN n % 10 < 7 THEN 'available' WHEN n % 10 = 7 THEN 'pending' ELSE 'sold' END
  FROM generate_series(1, ${pets}) AS n;
  INSERT INTO store_orders (account_id, pet_id, status, placed_at, updated_at)
  SELECT CASE WHEN n % 2 = 0 THEN 1 ELSE 1 + n / 2 % 2000 END, CASE WHEN n % 10 = 0 THEN 1 ELSE n END,
    CASE WHEN n % 100 = 1 THEN 'placed' WHEN n % 100 = 3 THEN 'approved' WHEN n % 3 = 0 THEN 'cancelled' ELSE 'delivered' END,
    now() - interval '30 days', now() - (${pets} - n) * interval '1 second'
  FROM generate_series(1, ${pets}) AS n;
  INSERT INTO events (id, account_id, type, data)
  SELECT n, CASE WHEN n % 4 = 0 THEN CASE WHEN n % 8 = 0 THEN 1 ELSE 1 + n / 8 % 2000 END END,
    CASE WHEN n % 4 = 0 THEN ('{${OF_ORDERS.join()}}'::text[])[1 + n / 8 % 4]
      ELSE ('{pet.created,pet.updated,pet.updated}'::text[])[n % 4] END, '{}'
  FROM generate_series(1, ${EVENTS}) AS n;
  INSERT INTO webhooks (account_id, url, secret, created_at, updated_at, position, due_at)
  SELECT 1 + n % 2000, 'https://x.example', '', now(), now(), 0, now() FROM generate_series(1, 20000) AS n;
  INSERT INTO api_keys (account_id, secret_hash, prefix, last_four, scopes)
  SELECT 1 + n % 2000, sha256(n::text::bytea), 'ask', 'abcd', '{pets:read}' FROM generate_series(1, 100000) AS n;
  INSERT INTO audit_entries (command, account, details, os_user)
  SELECT 'keys create', 'acc' || n % 2000, '', 'u' FROM generate_series(1, 100000) AS n;
  UPDATE event_log SET shift = 1000`;

/** Reads a page of each combination of filters, and the end of the feed, with the plans of any and of these values. */
export async function measureBuffers(
  world: World,
  options: Options,
  say: (line: string) => void,
): Promise<Table> {
  const url = options.server ?? (await world.createDatabase('buffers'));
  await migrate(schemaConfig(url));
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    say(`Fills the tables with ${options.pets} animals and orders.`);
    await client.query(fill(options.pets));
    await client.query('VACUUM ANALYZE');
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
    const found: { name: string; buffers: number }[] = [];
    for (const { name, text, values } of [...pagesOf(options.pets), ...polls()])
      found.push({ name, buffers: await buffersOf(client, text, values) });
    found.sort((one, other) => other.buffers - one.buffers);
    const worst = GROUPS.map((names) => found.filter(({ name }) => names.test(name)).slice(0, WORST));
    return {
      title: `PostgreSQL ${rows[0]?.server_version}: buffers of ${found.length} pages of ${ROWS - 1}, the worst without and with the filters of decision 34`,
      headings: ['page', '', 'buffers'],
      rows: worst
        .flatMap((each) => each.slice(0, WORST))
        .map(({ name, buffers }) => [name, '', `${buffers}`]),
    };
  } finally {
    await client.end();
  }
}

function* pagesOf(size: number) {
  for (const [list, filters] of LISTS)
    for (const given of combinationsOf(filters))
      for (const sort of ['id', '-id'] as const) {
        const { statement, parameters } = list.select(Object.assign(new SortedPageQuery(), { sort }), given);
        for (const first of firstsOf(sort, size)) {
          const name = `${list.table.table} ${sort} from ${first}: ${Object.entries(given).join(' ')}`;
          yield { name, text: statement.text, values: [first, ROWS, ...parameters.slice(2)] };
        }
      }
}

function firstsOf(sort: Sort, size: number): bigint[] {
  return sort === 'id' ? [MIN_INT64, BigInt(size / 2), BigInt(size - 5)] : [MAX_INT64, BigInt(size / 2), 5n];
}

function* polls() {
  // oxlint-disable-next-line unicorn/prefer-set-has
  const animals = EVENT_TYPES.filter((type) => !OF_ORDERS.includes(type));
  for (const types of [EVENT_TYPES, ...EVENT_TYPES.map((type) => [type])])
    for (const account of ACCOUNTS) {
      const own = account === undefined ? [] : types.filter((type) => OF_ORDERS.includes(type));
      const others = account === undefined ? types : types.filter((type) => animals.includes(type));
      const values = [EVENTS, ROWS - 1, others, own, account ?? null];
      yield { name: `poll, account ${account}: ${types.join()}`, text: READ.text, values };
    }
}

/** Lists the combinations of the values; `undefined` leaves a filter out. */
function combinationsOf(filters: Readonly<Record<string, readonly unknown[]>>): Record<string, unknown>[] {
  let all: Record<string, unknown>[] = [{}];
  for (const [name, values] of Object.entries(filters))
    all = all.flatMap((some) =>
      values.map((value) => (value === undefined ? some : { ...some, [name]: value })),
    );
  return all;
}

/** Returns the most buffers of the plans for any values and for these. */
async function buffersOf(client: Client, text: string, values: readonly unknown[]): Promise<number> {
  const list = values.map((value) => {
    const joined = [value].flat().join();
    return value === null ? 'NULL' : `'${Array.isArray(value) ? `{${joined}}` : joined}'`;
  });
  let most = 0;
  // The service plans a page with `petId` for its values only.
  for (const mode of text.includes('pet_id =') ? ['custom'] : ['custom', 'generic']) {
    await client.query(`SET plan_cache_mode = force_${mode}_plan`);
    await client.query(`PREPARE page AS ${text}`);
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE page (${list.join()})`,
    );
    await client.query('DEALLOCATE page');
    const line = rows.map((row) => row['QUERY PLAN']).find((each) => each.includes('Buffers:')) ?? '';
    const sum = [...line.matchAll(/(?:hit|read)=(\d+)/g)].reduce(
      (before, [, count]) => before + Number(count),
      0,
    );
    most = Math.max(most, sum);
  }
  return most;
}
