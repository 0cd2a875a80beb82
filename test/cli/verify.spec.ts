import { Readable } from 'node:stream';
import type { PlanChoice } from '../../src/accounts';
import { createStore, DEFAULT_SCOPES } from '../../src/app/store';
import { ApiDocument, readCommittedDocument } from '../../src/testing/api-document';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { runCli } from '../support/cli';
import { itemsExtension } from '../testing/support/items.extension';
import { type Breakage, type BreakingProxy, startBreakingProxy } from './support/breaking-proxy';
import { BREAKAGES, combined } from './support/breakages';

const FREE = { plan: 'free', perMinute: null, perDay: null } as const;
const SMALL_DAY = { plan: 'enterprise', perMinute: 100, perDay: 20 } as const;

/** The operations that need the scope `admin`. */
const ADMINISTRATION = new ApiDocument(readCommittedDocument()).operations
  .filter(({ scopes }) => scopes.join() === 'admin')
  .map(({ title }) => title);
/** It needs an event that was delivered. */
const RESEND = 'POST /v1/webhooks/{webhookId}/deliveries/{eventId}/resend';
const EXTENSIONS = [itemsExtension('items')];

/** Everything that a verification could change. */
const STATE = `
  SELECT (SELECT json_agg(pets ORDER BY id)::text FROM pets) AS pets,
    (SELECT json_agg(store_orders ORDER BY id)::text FROM store_orders
     WHERE status <> 'cancelled' OR account_id = (SELECT account_id FROM api_keys WHERE id = $1)) AS orders`;

describe('cli verify', () => {
  let app: TestApp;
  let proxy: BreakingProxy;
  let url: string;
  beforeAll(async () => {
    app = await startApp(
      // The runs follow each other within a minute, and each operation is requested twice without a valid key.
      { rateLimitAnonymousPerMinute: 10_000 },
      { extensions: EXTENSIONS },
    );
    // A breakage leads there.
    await app.post('/v1/pets', aNewPet());
    proxy = await startBreakingProxy(app.url);
    url = proxy.url;
  });
  beforeEach(() => syncClock());
  afterAll(async () => {
    await proxy.close();
    await app.close();
  });

  /** Sets the clock of the service to the system clock, from which Node makes `Date`. */
  const syncClock = () => app.clock.advance({ seconds: Math.round((Date.now() - app.clock.now()) / 1_000) });
  /** Creates a key with all scopes but that of administration: what that creates stays. */
  const createKey = async (choice?: PlanChoice) => {
    const scopes = createStore(EXTENSIONS).scopes.filter((scope) => scope !== 'admin');
    return (await app.createKey({ scopes, ...(choice && { choice }) })).key;
  };
  const createBuyerKey = async () => (await app.createKey({ scopes: DEFAULT_SCOPES })).key;
  /** Runs the command while the proxy breaks the service. */
  const run = async (args: readonly string[], breakage: Breakage = {}, environment = {}) => {
    Object.assign(proxy, { breakage, requests: 0, targets: [] });
    const ran = await runCli(['verify', ...args], environment);
    const lines = ran.out.split('\n');
    // The sentences below the lines that begin with FAIL.
    const broken = lines.filter((line) => line.startsWith('     ')).map((line) => line.trim());
    return { ...ran, lines, broken };
  };
  const verify = (key: string, breakage?: Breakage) =>
    run(['--base-url', breakage ? url : app.url, '--key', key], breakage);

  describe('with a Free key, --json and --exhaust, among 1,000 animals and open orders of others', () => {
    const waits: number[] = [];
    let ran: Awaited<ReturnType<typeof run>>;
    let document: { verdicts: { faults: unknown[] }[]; skipped: string[] };
    let states: unknown[];
    beforeAll(async () => {
      const { clock, database } = app;
      syncClock();
      const other = await app.createKey();
      const added = await database.query<{ id: number }>(`INSERT INTO pets (name, category_id, status)
        SELECT 'Rex ' || i, i % 7, CASE WHEN i % 5 = 0 THEN 'sold' ELSE 'available' END FROM generate_series(1, 1000) i
        RETURNING id::float8`);
      for (const { id: petId } of added.slice(0, 3)) {
        expect((await app.post('/v1/store/orders', { petId }, { key: other.key })).status).toBe(201);
      }
      const state = () => database.query(STATE, [other.id]);
      states = [await state()];
      const args = ['--base-url', `${url}/v1/`, '--key', await createKey(FREE), '--json', '--exhaust'];
      ran = await run(args, {
        response: (response, { path }) => {
          response.headers['date'] = new Date(clock.now()).toUTCString();
          // Only the last check, of the limit, asks for this page.
          if (response.status !== 429 || /^[^?]*\?limit=1$/.test(path)) return;
          waits.push(proxy.requests);
          clock.advance({ seconds: Number(response.headers['retry-after']) });
          response.headers['retry-after'] = '0';
        },
      });
      states.push(await state());
      document = JSON.parse(ran.out);
    });

    it('finds every promise kept, those of extensions too, and leaves the rest as it was', () => {
      expect(document.verdicts.flatMap(({ faults }) => faults)).toEqual([]);
      expect(document.verdicts.length).toBeGreaterThan(12);
      expect(document.skipped.toSorted()).toEqual([...ADMINISTRATION, RESEND].toSorted());
      expect(states[1]).toEqual(states[0]);
      const sent = new Set(proxy.targets.map((target) => target.replace(/\?.*|\d+$/g, '')));
      expect([...sent]).toEqual(
        expect.arrayContaining(['POST /v1/items', 'PATCH /v1/items/', 'DELETE /v1/items/']),
      );
    });

    it('fits the core in the first minute, and waits as Retry-After says for the rest', () => {
      expect(ran.status).toBe(0);
      expect(waits.length).toBeGreaterThan(3);
      // A Free key has 60 requests a minute.
      expect(waits.length).toBeLessThanOrEqual(Math.ceil(proxy.requests / 60));
    });

    it('prints only one JSON document', () => {
      expect(ran.out.trim().split('\n')).toHaveLength(1);
      expect(document).toEqual({
        baseUrl: `${url}/v1`,
        verdicts: expect.arrayContaining([{ promise: expect.stringMatching(/gets 401/), faults: [] }]),
        skipped: expect.any(Array),
        requests: proxy.requests,
        created: expect.arrayContaining([expect.stringMatching(/^\/pets\/\d+$/)]),
        left: [],
      });
    });

    it('uses up the rate limit and checks the 429', () => {
      const promise = 'a request over the limit gets 429, not before Retry-After';
      expect(document.verdicts.at(-1)).toEqual({ promise, faults: [] });
    });
  });

  it('with the scope admin and --leave changes no account and no key that it did not create, and lists what stays', async () => {
    const state = () =>
      app.database.query(
        `SELECT a::text, (SELECT jsonb_agg(to_jsonb(k) - 'last_used_at' ORDER BY number) FROM api_keys k WHERE account_id = a.id) AS keys
         FROM accounts a WHERE NOT starts_with(name, 'acme') AND name <> ALL ($1) ORDER BY id`,
        [created],
      );
    let created: string[] = [];
    const { key } = await app.createKey();
    const before = await state();
    const { status, broken, out } = await run(['--base-url', app.url, '--key', key, '--leave', '--json']);
    const { left, skipped } = JSON.parse(out);
    expect({ status, broken, skipped }).toEqual({ status: 0, broken: [], skipped: [RESEND] });
    expect(left.every((path: string) => path.startsWith('/accounts/'))).toBe(true);
    created = left.map((path: string) => decodeURIComponent(path.replace('/accounts/', '')));
    expect(await state()).toEqual(before);
  });

  it('creates nothing with a key that cannot remove it, and says so, unless --leave allows it', async () => {
    const count = 'SELECT FROM pets UNION ALL SELECT FROM store_orders';
    const before = (await app.database.query(count)).length;
    const { status, all } = await verify(await createBuyerKey());
    expect({ status, all }).toEqual({
      status: 1,
      all: expect.stringMatching(/^The key may not remove what POST \/v1\/pets creates: .*--leave .*\.\n$/),
    });
    expect(await app.database.query(count)).toHaveLength(before);
  });

  it("checks with a buyer's key and --leave only the errors of what staff may do, and lists what stays", async () => {
    const key = await createBuyerKey();
    const { status, lines, broken } = await run(['--base-url', app.url, '--key', key, '--leave']);
    expect({ status, broken }).toEqual({ status: 0, broken: [] });
    const kept = lines.filter((line) => /^ok {3}\S/.test(line)).length;
    const total = new RegExp(
      `^${kept} promises: ${kept} kept, 0 broken. [1-9]\\d+ requests to ${app.url}/v1\\.$`,
    );
    expect(lines).toContainEqual(expect.stringMatching(total));
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^Without a successful .*: .*PATCH \/v1\/pets\/\{petId\}.*DELETE \/v1\/pets\/\{petId\}/,
      ),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^Left there: \/pets\/\d+/));
  });

  it('orders no animal of others with a key that cannot add one', async () => {
    const { key } = await app.createKey({ scopes: ['orders:read', 'orders:write'] });
    const pets = 'SELECT json_agg(pets ORDER BY id)::text AS pets FROM pets';
    const orders = 'SELECT count(*) FROM store_orders';
    const before = [await app.database.query(pets), await app.database.query(orders)];
    const { status, lines } = await verify(key);
    expect(status).toBe(0);
    expect(lines).toContainEqual(
      expect.stringMatching(/^Without a successful .*: .*POST \/v1\/store\/orders/),
    );
    const after = [await app.database.query(pets), await app.database.query(orders)];
    expect(after).toEqual(before);
  });

  it.each([
    ['another program', { status: 200, text: '<html>' }, /\/key responds 200 and no key: check --base-url/],
    ['a redirect', { status: 302, text: '' }, /\/key responds 302 and no key: check --base-url/],
  ])('exits with 1 and one sentence for %s', async (_, replaced, sentence) => {
    const { status, all } = await verify('k', { response: (response) => Object.assign(response, replaced) });
    expect({ status, lines: all.trim().split('\n') }).toEqual({
      status: 1,
      lines: [expect.stringMatching(sentence)],
    });
  });

  it('ignores headers of a proxy and members of a later version, and never follows a Link to another host', async () => {
    const { key } = await app.createKey({ scopes: ['pets:read'] });
    const { status, broken } = await verify(key, {
      response: (response, { method, path }) => {
        response.headers['via'] = '1.1 proxy';
        const { link } = response.headers;
        if (typeof link === 'string') {
          response.headers['link'] = link.replaceAll('</v1', '<http://elsewhere.invalid/v1');
        }
        if (method === 'GET' && path === '/v1/pets' && response.status === 200) {
          response.text = response.text.replaceAll('"status"', '"age":3,"status"');
        }
      },
    });
    expect(broken.filter((line) => !line.includes('hash of its body'))).toEqual([]);
    expect(status).toBe(1);
  });

  it('reads the key from ANIMAL_STORE_KEY or standard input, and never prints a rejected one', async () => {
    const wrong = 'ask_test_not_this_one';
    const fromVariable = await run(['--base-url', url], {}, { ANIMAL_STORE_KEY: wrong });
    const input = Readable.from([`${wrong}\n`]) as typeof process.stdin;
    const stdin = jest.spyOn(process, 'stdin', 'get').mockReturnValue(input);
    const fromInput = await run(['--base-url', url, '--key', '-']);
    stdin.mockRestore();
    for (const { status, all } of [fromVariable, fromInput]) {
      expect(status).toBe(1);
      expect(all.trim()).toMatch(/^The deployment rejects the key \(401 invalid_api_key\): give one .*\.$/);
    }
    const none = await run(['--base-url', url]);
    expect(none).toMatchObject({
      status: 2,
      all: expect.stringContaining('verify needs an API key: set ANIMAL_STORE_KEY'),
    });
    const rejected = await run(['--base-url', url, '--key', 'ask_test_secret with a space']);
    expect(rejected).toMatchObject({ status: 2, all: expect.not.stringContaining('secret with') });
  });

  it('exits with 1 and one sentence if a response is cut off, and removes what it added', async () => {
    const count = 'SELECT FROM pets';
    const before = (await app.database.query(count)).length;
    const { status, all } = await verify(await createKey(), {
      body: (outgoing, { method }) => {
        if (method === 'POST') outgoing.destroy();
        return method === 'POST';
      },
    });
    expect({ status, last: all.trim().split('\n').at(-1) }).toEqual({
      status: 1,
      last: expect.stringMatching(/gives no complete response to POST/),
    });
    const after = (await app.database.query(count)).length;
    expect(after - before).toBeLessThanOrEqual(1);
  });

  it('exits with 1 and one sentence if the day of the key is used up, or the deployment is unreachable', async () => {
    // At noon: verify waits for the next day if that begins within two minutes, and this clock stands still.
    app.clock.advance({ seconds: 43_200 - ((app.clock.now() / 1_000) % 86_400) });
    const limited = await verify(await createKey(SMALL_DAY));
    expect(limited).toMatchObject({
      status: 1,
      all: expect.stringMatching(/responds 429 .*Retry in \d+ s/),
    });
    const unreachable = await run(['--base-url', 'http://127.0.0.1:1', '--key', 'k']);
    expect(unreachable).toMatchObject({ status: 1, out: '' });
    expect(unreachable.all.trim()).toMatch(/^http:\S+\/v1 gives no complete response .*ECONNREFUSED.*\.$/);
  });

  describe.each(Object.entries(BREAKAGES))('of a deployment with %s', (_, breakages) => {
    const others = () => app.database.query('SELECT * FROM pets ORDER BY id');
    let before: object[];
    let broken: readonly string[];
    beforeAll(async () => {
      syncClock();
      before = await others();
      const all = combined(Object.values(breakages).map(([, breakage]) => breakage));
      const { status, broken: lines } = await verify(await createKey(), all);
      expect(status).toBe(1);
      broken = lines;
    });

    it.each(Object.entries(breakages))('names the operation of %s', (_name, [sentence]) => {
      expect(broken).toContainEqual(expect.stringMatching(sentence));
    });

    it('changes and removes nothing of others', async () => {
      expect((await others()).slice(0, before.length)).toEqual(before);
    });
  });
});
