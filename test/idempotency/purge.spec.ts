import { startApp } from '../support/app';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';

const WAITING = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'idempotency_keys'::regclass
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

describe('the purge of stored responses', () => {
  it('under way ends with its batch, and without a warning, when the service stops', async () => {
    holdTimers();
    const app = await startApp();
    await app.database.query(
      `INSERT INTO idempotency_keys (id, created_at, body_hash, status, answer)
       SELECT sha256(n::text::bytea), '2020-01-01Z', sha256(''), 201, '{}' FROM generate_series(1, 2001) AS n`,
    );
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE idempotency_keys');
    pass({ seconds: 60 });
    await until(async () => (await app.database.query(WAITING)).length > 0);
    const closed = app.nest.close();
    await until(() => !app.nest.getHttpServer().listening);
    await app.database.query('COMMIT');
    await closed;
    expect(await app.database.query('SELECT FROM idempotency_keys')).toHaveLength(1001);
    expect(app.log.join('')).not.toContain('cannot be deleted');
    jest.useRealTimers();
    await app.close();
  });
});
