import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app';
import { connectAdmin } from '../support/database';
import { aNewPet } from '../support/factories';
import { scrape, valueOf } from '../support/metrics';
import { until } from '../support/until';
import { withoutTable } from '../support/without-table';
import { readerOf, settle } from './support/feed';

const OPERATE = readFileSync(join(__dirname, '../../docs/operate.md'), 'utf8');
/** The query that names the transaction. */
const [, HOLDER = ''] = /```sql\n(.*?)```/s.exec(OPERATE) ?? [];

describe('events behind an open transaction', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ metricsPort: 0 });
  });
  afterAll(() => app.close());

  const hidden = async () => valueOf(await scrape(app), 'animal_store_events_hidden_seconds');

  it('have an age in the metrics, and the query in docs/operate.md names the transaction', async () => {
    // In another database, as the session of another program.
    const other = await connectAdmin();
    try {
      await other.query(`SET application_name = 'nightly job'`);
      await other.query('BEGIN');
      const { rows } = await other.query('SELECT pg_current_xact_id(), pg_backend_pid() AS pid');
      for (let at = 0; at < 2; at += 1) await app.post('/v1/pets', aNewPet());
      expect(await readerOf(app)(false)).toEqual([]);
      // Transactions of other specs may be older.
      await until(async () => {
        const [holder] = await app.database.query<{ pid: number }>(HOLDER);
        return holder?.pid === rows[0].pid;
      });
      await app.database.query(
        `UPDATE events SET created_at = now() - interval '20 s' WHERE id = (SELECT min(id) FROM events)`,
      );
      expect(await hidden()).toBeGreaterThanOrEqual(20);
      await other.query('COMMIT');
    } finally {
      await other.end();
    }
    await settle(app);
    expect([await hidden(), (await readerOf(app)()).length]).toEqual([0, 2]);
  });

  it('have no age while the database does not tell it', async () => {
    expect(await withoutTable(app.database, 'events', hidden)).toBeNaN();
    expect(await hidden()).not.toBeNaN();
  });
});
