import { startApp } from '../support/app';
import { lockWaits } from '../support/lock-waits';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';

/** Stores so many responses whose 24 h are over. */
const FILL = `
  INSERT INTO idempotency_keys (id, created_at, body_hash, status, answer)
  SELECT sha256(n::text::bytea), '2020-01-01Z', sha256(''), 201, '{}' FROM generate_series(1, $1::integer) AS n`;

const COUNT = 'SELECT FROM idempotency_keys';

describe('the purge of stored responses', () => {
  beforeEach(() => holdTimers());
  afterEach(() => jest.useRealTimers());

  it('under way ends with its batch, and without a warning, when the service stops', async () => {
    const app = await startApp();
    await app.database.query(FILL, [2_001]);
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE idempotency_keys');
    pass({ seconds: 60 });
    await until(async () => (await lockWaits(app.database)).length > 0);
    const closed = app.nest.close();
    await until(() => !app.nest.getHttpServer().listening);
    await app.database.query('COMMIT');
    await closed;
    expect(await app.database.query(COUNT)).toHaveLength(1001);
    expect(app.log.join('')).not.toContain('cannot be deleted');
    jest.useRealTimers();
    await app.close();
  });

  it('keeps a response that a request renews meanwhile', async () => {
    const app = await startApp();
    await app.database.query(FILL, [2]);
    await app.database.query('BEGIN');
    await app.database.query(`UPDATE idempotency_keys SET created_at = '2030-01-01Z' WHERE id = sha256('1')`);
    pass({ seconds: 60 });
    await until(async () => (await app.database.query(`${COUNT} WHERE id = sha256('2')`)).length === 0);
    await app.database.query('COMMIT');
    expect(await app.database.query(COUNT)).toHaveLength(1);
    jest.useRealTimers();
    await app.close();
  });
});
