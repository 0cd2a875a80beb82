import { Client } from 'pg';
import { type CuttingProxy, startCuttingProxy } from '../failure/support/cutting-proxy';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { send } from '../support/http';
import { runBuilt, running, type RunningService } from '../support/service';
import { createKey } from './support/keys';
import { median, runProgram } from './support/programs';

const ROUNDS = 3;
const DURATION_MS = 1_500;
/** The promise: a hanging page delays another request by at most this time. */
const MAX_DELAY_MS = 50;
/** The hanging requests took at least this time, so the page did hang. */
const MIN_HANG_MS = 900;
/** Different pages: one query would serve all requests for the same page. */
const hangingPath = (at: number) => `/v1/store/orders?limit=${10 + at}`;
const HANGING_STATEMENT = 'store_orders_list';

jest.setTimeout(300_000);

interface Times {
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  readonly count: number;
  readonly statuses: readonly number[];
}

/** Makes the list of orders hang, while all other reads share its connections. */
interface Hang {
  readonly name: string;
  /** Concurrent hanging requests. Three make all pipelined connections hang. */
  readonly requests: number;
  readonly begin: () => Promise<unknown> | void;
  readonly end: () => Promise<unknown> | void;
}

describe('a page that hangs, with pipelined reads and joined creations', () => {
  let server: OwnServer;
  let proxy: CuttingProxy;
  let service: RunningService;
  let locker: Client;
  let key: string;
  beforeAll(async () => {
    server = await startOwnServer();
    proxy = await startCuttingProxy(server.url());
    const environment = { DATABASE_URL: proxy.through(server.url()), LOG_LEVEL: 'silent' };
    service = await running(runBuilt('main', [], environment));
    key = await createKey(environment);
    locker = new Client({ connectionString: server.url() });
    await locker.connect();
    await query(
      server.url(),
      `INSERT INTO pets (name, category_id, status)
       SELECT 'animal', 1, CASE WHEN n % 2 = 0 THEN 'sold' ELSE 'available' END FROM generate_series(1, 1000) AS n`,
    );
    await neighbours();
    // A connection that waits for a lock to prepare its statement would be replaced.
    for (let turn = 0; turn < 20; turn += 1) {
      await Promise.all([0, 1, 2].map((at) => send(service.url, 'GET', hangingPath(at), { key })));
    }
  });
  afterAll(async () => {
    service.child.kill('SIGTERM');
    await service.ended;
    await locker.end();
    await proxy.close();
    await server.remove();
  });

  const neighbours = () => runProgram<Times>('neighbours', service.url, key, DURATION_MS);
  const lock = () => locker.query('BEGIN; LOCK TABLE store_orders IN ACCESS EXCLUSIVE MODE');
  const unlock = () => locker.query('COMMIT');

  const hangs: readonly Hang[] = [
    {
      name: 'three requests wait for a lock',
      requests: 3,
      begin: lock,
      end: unlock,
    },
    {
      name: 'two requests take a second',
      requests: 2,
      begin: () => locker.query(SLOW_ORDERS),
      end: () => locker.query(FAST_ORDERS),
    },
    {
      name: 'a connection loses its packets',
      requests: 1,
      begin: () => proxy.holdBack(HANGING_STATEMENT),
      end: () => proxy.passOn(),
    },
  ];

  /** Repeats the hanging request until it is aborted. @returns the longest time of one */
  async function hang(path: string, ended: AbortSignal): Promise<number> {
    let longestMs = 0;
    while (!ended.aborted) {
      const startedAt = performance.now();
      await send(service.url, 'GET', path, { key });
      longestMs = Math.max(longestMs, performance.now() - startedAt);
    }
    return longestMs;
  }

  async function suffer({ requests, begin, end }: Hang) {
    const usual = await neighbours();
    await begin();
    const ended = new AbortController();
    const hanging = Array.from({ length: requests }, (_, at) => hang(hangingPath(at), ended.signal));
    const during = await neighbours();
    ended.abort();
    await end();
    const hungMs = Math.max(...(await Promise.all(hanging)));
    return { usual, during, hungMs };
  }

  it.each(hangs)('delays no other request by more than 50 ms: $name', async (each) => {
    const rounds: Awaited<ReturnType<typeof suffer>>[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await suffer(each));
    const figure = (of: (round: (typeof rounds)[number]) => number) => median(rounds.map(of));
    const ms = (of: (times: Times) => number) =>
      `${figure(({ usual }) => of(usual)).toFixed(1)} ms usually and ${figure(({ during }) => of(during)).toFixed(1)} ms during`;
    const delayMs = figure(({ usual, during }) => during.longestMs - usual.longestMs);
    process.stdout.write(
      `hanging page (${each.name}, up to ${Math.round(figure(({ hungMs }) => hungMs))} ms): others median ${ms(({ medianMs }) => medianMs)}` +
        `, p99 ${ms(({ p99Ms }) => p99Ms)}, longest ${ms(({ longestMs }) => longestMs)}` +
        `; longest delay ${delayMs.toFixed(1)} ms of ${figure(({ during }) => during.count)} requests (medians of ${ROUNDS})\n`,
    );
    for (const { usual, during, hungMs } of rounds) {
      for (const { statuses } of [usual, during]) expect(new Set(statuses)).toEqual(new Set([200, 201]));
      expect(hungMs).toBeGreaterThan(MIN_HANG_MS);
    }
    expect(delayMs).toBeLessThan(MAX_DELAY_MS);
  });
});

const SLOW_ORDERS = `
  ALTER TABLE store_orders RENAME TO orders;
  CREATE VIEW store_orders AS SELECT * FROM orders WHERE (SELECT pg_sleep(1)::text) IS NOT NULL`;
const FAST_ORDERS = 'DROP VIEW store_orders; ALTER TABLE orders RENAME TO store_orders';
