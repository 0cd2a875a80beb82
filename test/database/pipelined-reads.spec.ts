import { PipelinedReads } from '../../src/platform/database/pipelined-reads';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/until';

const MAX_IN_FLIGHT = 32;
const LOCK = 'SELECT pg_advisory_lock_shared(1)';

describe('reads that share a connection', () => {
  let database: TestDatabase;
  let reads: PipelinedReads;
  /** The queries that the pool ran. */
  let onPool: string[];

  const read = (text: string) => reads.rows({ text }, []);
  const isOpen = async () => {
    onPool = [];
    await read('SELECT 0');
    return onPool.length === 0;
  };
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());
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
    await reads.close();
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

  it('do not wait for one that hangs: the pool repeats those behind it, and runs all later ones', async () => {
    await database.query('SELECT pg_advisory_lock(1)');
    let hasEnded = false;
    const hanging = read(LOCK).then((rows) => ((hasEnded = true), rows));
    const behind = ['SELECT 1', 'SELECT 2', 'SELECT 3'];
    await Promise.all(behind.map(read));
    expect(onPool).toEqual(behind);
    await read('SELECT 4');
    expect(onPool).toEqual([...behind, 'SELECT 4']);
    expect(hasEnded).toBe(false);
    await database.query('SELECT pg_advisory_unlock(1)');
    expect(await hanging).toEqual([{ pg_advisory_lock_shared: '' }]);
    await until(isOpen);
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

  it('get another connection if it is renewed, as after a failover', async () => {
    const [before] = await read('SELECT pg_backend_pid() AS pid');
    reads.renew();
    await until(isOpen);
    expect(await read('SELECT pg_backend_pid() AS pid')).not.toEqual([before]);
  });

  it('run on the pool after close, which waits for those under way', async () => {
    const last = read('SELECT 1 AS one');
    await reads.close();
    expect(await last).toEqual([{ one: 1 }]);
    await read('SELECT 2');
    expect(onPool).toEqual(['SELECT 2']);
  });
});
