import { CoalescedRead } from '../../src/platform/database/coalesced-read';
import { PipelinedReads } from '../../src/platform/database/pipelined-reads';
import { createDatabase, type TestDatabase } from '../support/database';
import { startCuttingProxy } from '../failure/support/cutting-proxy';
import { holdMeasuredTime, pass } from '../support/timers';
import { until } from '../support/until';

const MAX_IN_FLIGHT = 32;
const LOCK = 'SELECT pg_advisory_lock_shared(1)';
/** Of a statement whose time ends soon. */
const BRIEF = { query_timeout: 200 };

describe('reads that share a connection', () => {
  let database: TestDatabase;
  let reads: PipelinedReads;
  /** The queries that the pool ran. */
  let onPool: string[];

  const read = (text: string, more = {}) => reads.rows({ text, ...more }, []);
  /** Lets the time pass after which a connection may be opened again. */
  const isOpen = async () => {
    onPool = [];
    await read('SELECT 0');
    pass({ seconds: 1 });
    return onPool.length === 0;
  };
  beforeAll(async () => {
    database = await createDatabase();
    holdMeasuredTime();
  });
  afterAll(async () => {
    jest.useRealTimers();
    await database.drop();
  });
  beforeEach(async () => {
    onPool = [];
    reads = new PipelinedReads({ connectionString: database.directUrl }, 1, ({ text }) => {
      onPool.push(text);
      return Promise.resolve([{ text }]);
    });
    await until(isOpen);
  });
  afterEach(async () => {
    await database.query('SELECT pg_advisory_unlock_all()');
    reads.end();
  });

  it('return the rows of their own query, in any order of types and errors', async () => {
    const results = await Promise.allSettled([
      read('SELECT 1 AS one'),
      read('SELECT 1 / 0'),
      read('SELECT 2 AS two'),
      read('SELEKT'),
      read('SELECT 3 AS three'),
    ]);
    expect(results).toEqual([
      { status: 'fulfilled', value: [{ one: 1 }] },
      { status: 'rejected', reason: expect.objectContaining({ code: '22012', query: 'SELECT 1 / 0' }) },
      { status: 'fulfilled', value: [{ two: 2 }] },
      { status: 'rejected', reason: expect.objectContaining({ code: '42601' }) },
      { status: 'fulfilled', value: [{ three: 3 }] },
    ]);
    expect(onPool).toEqual([]);
  });

  it('are at most 32: the pool runs the others', async () => {
    await database.query('SELECT pg_advisory_lock(1)');
    const all = Array.from({ length: MAX_IN_FLIGHT + 8 }, () => read(LOCK));
    expect(onPool).toHaveLength(8);
    await database.query('SELECT pg_advisory_unlock(1)');
    await Promise.all(all);
  });

  it('are not sent behind one that hangs: the pool runs them', async () => {
    await database.query('SELECT pg_advisory_lock(1)');
    const hanging = read(LOCK);
    pass({ seconds: 1 });
    await read('SELECT 1');
    expect(onPool).toEqual(['SELECT 1']);
    await database.query('SELECT pg_advisory_unlock(1)');
    expect(await hanging).toEqual([{ pg_advisory_lock_shared: '' }]);
    await read('SELECT 2');
    expect(onPool).toEqual(['SELECT 1']);
  });

  it('are repeated on the pool if the connection is lost; a new one is opened', async () => {
    await database.query('SELECT pg_advisory_lock(1)');
    const [{ pid }] = (await read('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
    const all = [read(LOCK), read('SELECT 1'), read('SELECT 2')];
    await database.query('SELECT pg_terminate_backend($1)', [pid]);
    expect(await Promise.all(all)).toEqual(
      [{ text: LOCK }, { text: 'SELECT 1' }, { text: 'SELECT 2' }].map((row) => [row]),
    );
    await until(isOpen);
    expect(await read('SELECT pg_backend_pid() AS pid')).not.toEqual([{ pid }]);
  });

  it.each([
    ['has lost', 'DEALLOCATE ALL'],
    ['has already', 'PREPARE prepared AS SELECT 1'],
  ])(
    'are repeated on the pool if the server %s their prepared statement, and get another connection',
    async (_how, change) => {
      const prepared = { name: 'prepared', text: 'SELECT pg_backend_pid() AS pid' };
      const [before] = await (change.startsWith('DEALLOCATE')
        ? reads.rows(prepared, [])
        : read(prepared.text));
      await read(change);
      await Promise.all([reads.rows(prepared, []), read('SELECT 1')]);
      // On a busy machine the other read is repeated, too, because it waits behind this one.
      expect(onPool).toContain(prepared.text);
      await until(isOpen);
      expect(await reads.rows(prepared, [])).not.toEqual([before]);
      expect(onPool).toEqual([]);
    },
  );

  it('fail after the time of a query; the pool repeats those behind it, and another connection is opened', async () => {
    const [before] = await read('SELECT pg_backend_pid() AS pid');
    await database.query('SELECT pg_advisory_lock(1)');
    const hanging = read(LOCK, BRIEF);
    const behind = read('SELECT 1', BRIEF);
    await expect(hanging).rejects.toThrow('Query read timeout');
    expect(await behind).toEqual([{ text: 'SELECT 1' }]);
    expect(onPool).toEqual(['SELECT 1']);
    await until(isOpen);
    expect(await read('SELECT pg_backend_pid() AS pid')).not.toEqual([before]);
  });

  it('fail after the time of a query if their connection is being closed', async () => {
    await database.query('SELECT pg_advisory_lock(1)');
    const hanging = read(LOCK, BRIEF);
    reads.end();
    await expect(hanging).rejects.toThrow('Query read timeout');
  });

  it('have at most their number of connections if opening one takes long', async () => {
    const proxy = await startCuttingProxy(database.directUrl);
    proxy.holdBack('user');
    const config = { connectionString: proxy.through(database.directUrl) };
    const slow = new PipelinedReads(config, 1, () => Promise.resolve([{ one: 'on the pool' }]));
    const one = async () => {
      pass({ seconds: 1 });
      const [row] = (await slow.rows({ text: 'SELECT 1 AS one' }, [])) as [{ one: unknown }];
      return row.one;
    };
    try {
      for (let asked = 0; asked < 3; asked += 1) expect(await one()).toBe('on the pool');
      await until(() => proxy.count > 0);
      proxy.passOn();
      await until(async () => (await one()) === 1);
      expect(proxy.count).toBe(1);
    } finally {
      await proxy.close();
      slow.end();
    }
  });

  it('run on the pool after the end, which completes those under way', async () => {
    const last = read('SELECT 1 AS one');
    reads.end();
    expect(await last).toEqual([{ one: 1 }]);
    await read('SELECT 2');
    expect(onPool).toEqual(['SELECT 2']);
  });
});

describe('reads that share a query', () => {
  /** A query that resolves with its number when the spec calls `end`. */
  function queries() {
    const begun: { end: () => void; fail: () => void }[] = [];
    const query = () =>
      new Promise<number>((resolve, reject) => {
        const number = begun.length;
        begun.push({ end: () => resolve(number), fail: () => reject(new Error('unavailable')) });
      });
    return { begun, query };
  }

  it('share the next query if one is running; no read gets a query that began before it', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const first = shared.read('page', query);
    const waiting = [shared.read('page', query), shared.read('page', query)];
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    expect(await first).toBe(0);
    const late = shared.read('page', query);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    expect(await Promise.all(waiting)).toEqual([1, 1]);
    begun[2]?.end();
    expect(await late).toBe(2);
  });

  it('wait only a limited time for a query that hangs; its end begins no further query', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const hanging = shared.read('page', query);
    const next = shared.read('page', query);
    await until(() => begun.length === 2);
    begun[0]?.end();
    expect(await hanging).toBe(0);
    const last = shared.read('page', query);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    expect(await next).toBe(1);
    begun[2]?.end();
    expect(await last).toBe(2);
  });

  it('fail together; the next read begins a new query', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const first = shared.read('page', query);
    const second = shared.read('page', query);
    begun[0]?.fail();
    await expect(first).rejects.toThrow('unavailable');
    begun[1]?.fail();
    await expect(second).rejects.toThrow('unavailable');
    const third = shared.read('page', query);
    begun[2]?.end();
    expect(await third).toBe(2);
  });

  it('fail if the query throws synchronously, and no read keeps waiting', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const broken = (): never => {
      throw new Error('thrown');
    };
    const first = shared.read('page', query);
    const waiting = [shared.read('page', broken), shared.read('page', broken)];
    begun[0]?.end();
    expect(await first).toBe(0);
    for (const each of waiting) await expect(each).rejects.toThrow('thrown');
    await expect(shared.read('page', broken)).rejects.toThrow('thrown');
  });
});
