import { EventsRepository } from '../../src/events';
import { FeedHorizon } from '../../src/events/feed-horizon';
import { startApp, type TestApp } from '../support/app';
import { connectAdmin } from '../support/database';
import { aNewPet } from '../support/factories';
import { scrape, valueOf } from '../support/metrics';
import { holdTimers } from '../support/timers';
import { until } from '../support/until';
import { readerOf, settle } from './support/feed';
import { withoutTable } from '../support/without-table';

const METRIC = 'animal_store_events_hidden_seconds';

describe('events behind an open transaction', () => {
  let app: TestApp;
  beforeAll(async () => {
    holdTimers();
    app = await startApp({ metricsPort: 0 });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await app.close();
  });

  const hidden = async () => valueOf(await scrape(app), METRIC);
  const run = () => app.nest.get(FeedHorizon).run();
  const warnings = () =>
    app.log.filter((line) => line.includes('held back the feed')).map((line) => JSON.parse(line));
  const holder = () => app.nest.get(EventsRepository, { strict: false }).findHolder();

  it('have an age in the metrics, and after 60 s one line of the log names the transaction', async () => {
    // In another database, as the session of another program.
    const other = await connectAdmin();
    try {
      await other.query(`SET application_name = 'nightly job'`);
      await other.query('BEGIN');
      const { rows } = await other.query(
        `SELECT pg_current_xact_id(), pg_backend_pid() AS pid, current_database() AS database, current_user AS role,
           to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since`,
      );
      const [{ pid, database, role, since }] = rows;
      await app.post('/v1/pets', aNewPet());
      expect(await readerOf(app)(false)).toEqual([]);
      // Transactions of other specs may be older.
      await until(async () => (await holder())?.name.startsWith(`pid ${pid},`) === true);
      const age = (seconds: number) =>
        app.database.query(`UPDATE events SET created_at = clock_timestamp() - $1 * interval '1 s'`, [
          seconds,
        ]);
      await age(20);
      await run();
      expect(warnings()).toEqual([]);
      expect(await hidden()).toBeGreaterThanOrEqual(20);
      await age(61);
      for (let at = 0; at < 2; at += 1) await run();
      expect(warnings().map(({ level, msg }) => [level, msg.replace(/ for \d+ s/, '')])).toEqual([
        [
          40,
          // The role of the service may not see when the session of another one began.
          expect.stringMatching(
            `^An open transaction has held back the feed and all webhooks: pid ${pid}, nightly job, role ${role}, database ${database}, open since (${since}|before 20\\S+Z)\\. End it\\.$`,
          ),
        ],
      ]);
      await other.query('COMMIT');
    } finally {
      await other.end();
    }
    await settle(app);
    expect([await hidden(), (await readerOf(app)()).length]).toEqual([0, 1]);
    await run();
    expect(warnings()).toHaveLength(1);
  });

  it('have no age while the database does not tell it', async () => {
    expect(await withoutTable(app.database, 'events', hidden)).toBeNaN();
    expect(await hidden()).not.toBeNaN();
  });
});
