import { Client } from 'pg';
import { type CuttingProxy, startCuttingProxy } from '../failure/support/cutting-proxy';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { linksOf } from '../support/links';
import { holdTimers } from '../support/timers';

type Case = [list: string, most: number, reader?: 'buyer'];

const ROWS = 6_000;

/** Lists of which the service prepares the statements, and the most buffers that a page of 20 reads. */
const PREPARED: readonly Case[] = [
  ['/v1/pets', 15],
  ['/v1/pets?status=available', 15],
  ['/v1/pets?status=sold', 15],
  ['/v1/pets?status=available&status=sold', 30],
  ['/v1/pets?categoryId=1', 15],
  ['/v1/pets?categoryId=1&status=pending', 15],
  ['/v1/pets?categoryId=1&status=pending&status=sold', 30],
  ['/v1/store/orders', 30],
  ['/v1/store/orders?status=approved', 15],
  ['/v1/store/orders?status=placed&status=approved&status=delivered&status=cancelled', 60],
  ['/v1/store/orders?account=*', 40],
  ['/v1/store/orders?account=*&status=approved', 40],
  ['/v1/store/orders?account=*&status=cancelled', 40],
  ['/v1/store/orders?account=*&status=placed&status=cancelled', 60],
  ['/v1/events', 50],
  ['/v1/events?type=pet.deleted', 15],
  ['/v1/events', 50, 'buyer'],
  ['/v1/events?type=order.approved', 15, 'buyer'],
];

/** Lists of one page, and those for which the best index depends on the values. */
const OTHERS: readonly Case[] = [
  [`/v1/pets?id=7&id=${ROWS}`, 15],
  [`/v1/pets?id=7&id=${ROWS}&status=sold`, 15],
  [`/v1/pets?id=7&id=${ROWS}&categoryId=1`, 15],
  ['/v1/pets?id=7&categoryId=1&status=sold', 15],
  ['/v1/store/orders?account=shop 8', 15],
  ...['', '&account=*'].flatMap((account) =>
    ['', '&status=placed', '&status=approved&status=cancelled'].map((status): Case => [
      `/v1/store/orders?petId=7${account}${status}`,
      15,
    ]),
  ),
  ['/v1/accounts', 15],
  ['/v1/webhooks', 30],
  // The index entries of all animals, of a category, and of a page: half of the animals are of the first category.
  ['/v1/store/inventory', 80],
  ['/v1/store/inventory?categoryId=7', 20],
  ['/v1/categories', 250],
  ...[
    ...'bexla ella zofie zofei белк qqq'.split(' '),
    'bella the b',
    'the bella b7',
    'a b c d e f g h i j k l m n o p q r s t u v w x y z',
    'x'.repeat(100),
    'bella&status=sold',
    'bela&status=sold',
    'bella&categoryId=7',
    'bella the b&categoryId=1&status=pending&status=sold',
  ].map((q): Case => [`/v1/pets?q=${q}`, 5_000]),
];

/** Half of the rows belong to the first of 2,000 groups, so the planner expects a group to be small. */
const GROUP = 'CASE WHEN n % 2 = 0 THEN 1 ELSE 1 + n % 2000 END';

/**
 * Rows of the rare statuses have high ids: a scan of the primary key would be long. Most names are the same, have one
 * letter, or differ at their beginning or end only. Half of the events are of one account.
 */
const FILL = `
  SET animal_store.events = 'off'; SET synchronous_commit = on;
  INSERT INTO accounts (name, plan) SELECT 'shop ' || n, 'free' FROM generate_series(1, 2000) AS n;
  INSERT INTO pets (name, category_id, status)
  SELECT CASE n % 8 WHEN 0 THEN 'Bella' WHEN 1 THEN 'B' WHEN 2 THEN 'Bel' || md5(n::text)
      WHEN 3 THEN md5(n::text) || 'la' ELSE 'Bella the B' || n END,
    ${GROUP}, CASE WHEN n > ${ROWS - 50} THEN 'sold' WHEN n % 3 = 0 THEN 'pending' ELSE 'available' END
  FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO store_orders (account_id, pet_id, status, placed_at)
  SELECT ${GROUP}, n, CASE WHEN n > ${ROWS - 50} THEN 'cancelled' WHEN n % 3 = 0 THEN 'approved' ELSE 'delivered' END, now()
  FROM generate_series(1, ${ROWS}) AS n;
  UPDATE event_log SET shift = ${ROWS};
  INSERT INTO events (id, type, account_id, data)
  SELECT n << 22, CASE n % 2 WHEN 0 THEN 'pet.created' ELSE 'order.placed' END, CASE n % 2 WHEN 1 THEN 1 END, '{}'
  FROM generate_series(1::bigint, ${ROWS}) AS n`;

const WEBHOOKS = 10;
const FILL_WEBHOOKS = `
  INSERT INTO webhooks (account_id, url, secret, created_at, updated_at, due_at, position)
  SELECT n, 'https://shop.example', '', now(), now(), now(), (SELECT max(id) FROM events)
  FROM generate_series(1, ${WEBHOOKS}) AS n`;

/** PostgreSQL tells the client the plan of each statement, as it ran. */
const SETTINGS = Object.entries({
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_level': 'notice',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_timing': 'off',
  plan_cache_mode: 'force_generic_plan',
});

describe('few buffers are read', () => {
  let app: TestApp;
  let proxy: CuttingProxy;
  let keyOfBuyer: string;
  let name: string;
  let plans = '';
  beforeAll(async () => {
    // Periodic work has statements, too.
    holdTimers();
    const database = await createDatabase();
    proxy = await startCuttingProxy(database.directUrl);
    proxy.onData = (chunk) => void (plans += chunk.toString('latin1'));
    const url = proxy.through(database.directUrl);
    name = new URL(database.directUrl).pathname.slice(1);
    for (const [setting, value] of SETTINGS)
      await database.administer(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    // With one connection each statement is prepared once.
    app = await startApp({ databasePoolSize: 1 }, { database: { ...database, url } });
    const account = '/v1/accounts/account%201';
    const limits = { plan: 'enterprise', perMinute: 1e9, perDay: 1e9 };
    expect((await app.send('PATCH', account, { body: limits })).status).toBe(200);
    app.clock.advance({ seconds: 10 });
    const scopes = ['pets:read', 'orders:read', 'events:read'];
    keyOfBuyer = (await app.post(`${account}/keys`, { scopes })).json.key;
    for (const [list, , reader] of PREPARED) await pagesOf(list, reader);
    await app.database.query(FILL);
    await warmUp();
  });
  afterAll(() => app.close());
  afterAll(async () => {
    await proxy.close();
    jest.useRealTimers();
  });

  /** Lets the service read the keys, and PostgreSQL the functions: their first call reads the catalog. */
  const warmUp = () => Promise.all([get('/v1/key'), get('/v1/key', 'buyer'), get('/v1/webhooks')]);

  async function get(path: string, reader?: 'buyer') {
    const key = reader ? keyOfBuyer : app.key;
    // The events have no data.
    const response = await app.get(path, { key, isDocumented: false });
    expect([path, response.status]).toEqual([path, 200]);
    return response;
  }

  /** Returns the first page of a list in each order, one from its middle, and the last one. */
  async function pagesOf(list: string, reader?: 'buyer'): Promise<string[]> {
    const pages: string[] = [];
    for (const [sort, last] of [
      ['id', ROWS - 10],
      ['-id', 11],
    ] as const) {
      const first = `${list}${list.includes('?') ? '&' : '?'}sort=${sort}`;
      const { next } = linksOf(await get(first, reader));
      pages.push(first);
      if (next) pages.push(...[ROWS / 2, last].map((id) => pageAfter(id, new URL(next, app.url))));
    }
    return pages;
  }

  /** Returns the buffers of all statements of some work, and true if a plan is one for any values. */
  async function readBy(work: () => Promise<unknown>, statement = '') {
    plans = '';
    await work();
    const ran = plans.match(/Query Text: [^\0]*/g)?.filter((each) => each.includes(statement)) ?? [];
    let buffers = 0;
    let isGeneric = false;
    for (const each of ran) {
      const plan = each.slice(each.indexOf('(cost='));
      // The first line is that of the whole statement.
      const [, hit = 0, read = 0] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? [];
      buffers += Number(hit) + Number(read);
      isGeneric ||= /\$\d/.test(plan);
    }
    expect(ran).not.toEqual([]);
    return { buffers, isGeneric };
  }

  /** @returns the plan of the last page */
  async function expectFew([, most, reader]: Case, pages: readonly string[]) {
    const read: [page: string, buffers: number][] = [];
    let isGeneric = false;
    for (const page of pages) {
      const one = await readBy(() => get(page, reader));
      if (one.buffers > most) read.push([page, one.buffers]);
      ({ isGeneric } = one);
    }
    expect(read).toEqual([]);
    return isGeneric;
  }

  // PostgreSQL keeps the plan of the empty table until it analyzes the table.
  it.each(PREPARED)('for %s by a plan that is older than the rows: %i', async (...each) => {
    expect(await expectFew(each, await pagesOf(each[0], each[2]))).toBe(true);
  });

  describe('after ANALYZE', () => {
    beforeAll(async () => {
      // Adds up the counts of animals.
      await app.runDueWork();
      await app.restart(async () => {
        for (const statement of [
          FILL_WEBHOOKS,
          `ALTER DATABASE ${name} RESET plan_cache_mode`,
          'VACUUM ANALYZE',
        ])
          await app.database.administer(statement);
      });
      await warmUp();
    });

    // PostgreSQL plans the first five executions for their values, and then compares the costs.
    it.each(PREPARED)('for %s at any depth, and the sixth plan is for any values: %i', async (...each) => {
      const pages = await pagesOf(each[0], each[2]);
      expect(await expectFew(each, [...pages, ...pages])).toBe(true);
    });

    it.each(OTHERS)('for %s: %i', async (...each) => {
      await expectFew(each, [encodeURI(each[0])]);
    });

    it('for a page of a word that every animal has, next to it', async () => {
      const events = (state: string) =>
        app.database.query(`SELECT set_config('animal_store.events', $1, false)`, [state]);
      await events('off');
      await app.database.query(
        `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
         SELECT 1000000000 + 4 * n, 'Rex' || repeat(' the Dog', 30), n, 'sold' FROM generate_series(1, 30000) AS n`,
      );
      await app.database.administer('VACUUM ANALYZE pets');
      const { buffers } = await readBy(() => get('/v1/pets?q=dog&sort=-id'));
      expect(buffers).toBeLessThanOrEqual(600);
      await app.database.query("DELETE FROM pets WHERE name LIKE 'Rex the Dog%'");
      await events('on');
      await app.database.administer('VACUUM (FULL, ANALYZE) pets');
    });

    it(`for a look at ${WEBHOOKS} webhooks whose events are delivered, that pause, or are disabled, each 5 s`, async () => {
      // An import has not committed its animals yet.
      const other = new Client({ connectionString: app.database.directUrl });
      await other.connect();
      await other.query('BEGIN');
      await other.query(
        "INSERT INTO pets (name, category_id, status) SELECT 'a', 1, 'sold' FROM generate_series(1, 5000)",
      );
      const inAnHour = new Date(app.clock.now() + 3_600_000).toISOString();
      for (const [values, most] of [
        ['attempts = 0', 500],
        [`attempts = 1, due_at = '${inAnHour}'`, 60],
        ['disabled_at = now()', 60],
      ] as const) {
        await app.database.query(`UPDATE webhooks SET ${values}`);
        await app.database.administer('VACUUM ANALYZE webhooks');
        for (let tick = 0; tick < 6; tick += 1) {
          const { buffers } = await readBy(() => app.runDueWork(), 'UPDATE webhooks SET due_at');
          expect([values, buffers > most ? buffers : 'few']).toEqual([values, 'few']);
        }
      }
      await other.query('ROLLBACK');
      await other.end();
      await app.database.administer('VACUUM (FULL, ANALYZE) pets, events, webhooks');
    });
  });
});

/** Returns the page of a list after an id, given its second page. Ids of events have other bits before those of the row. */
function pageAfter(id: number, url: URL): string {
  const cursor = Buffer.from(url.searchParams.get('cursor')!, 'base64url').toString();
  const place = url.pathname === '/v1/events' ? BigInt(id) << 22n : id;
  url.searchParams.set('cursor', Buffer.from(cursor.replace(/^\d+/, String(place))).toString('base64url'));
  return url.pathname + url.search;
}
