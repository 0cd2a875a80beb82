import { startApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { until } from '../support/until';
import { RawConnection } from './support/raw';

const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

describe('limits of time and number', () => {
  it('DATABASE_POOL_WAIT_MS: 503 service_unavailable with Retry-After for who waits longer; others are answered', async () => {
    const app = await startApp({ databasePoolSize: 1, databasePoolWaitMs: 200 });
    await app.get('/v1/pets');
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE pets');
    const holding = app.post('/v1/pets', aNewPet());
    await until(async () => {
      const [row] = await app.database.query<{ waiting: string }>(
        "SELECT count(*) AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return row?.waiting === '1';
    });
    const answers = await Promise.all(Array.from({ length: 5 }, () => app.get('/v1/pets')));
    expect((await send(app.url, 'GET', '/livez')).status).toBe(200);
    await app.database.query('COMMIT');
    for (const answer of answers) {
      expectError(answer, 503, 'service_unavailable');
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expect(answer.headers['x-ratelimit-limit']).toBe('1000');
    }
    expect((await holding).status).toBe(201);
    expect((await app.get('/v1/pets')).status).toBe(200);
    await app.close();
  });

  it('MAX_CONNECTIONS: a further connection is closed at once, and there is room again when one has gone', async () => {
    const app = await startApp({ maxConnections: 2 });
    const first = await RawConnection.open(app.url);
    const second = await RawConnection.open(app.url);
    for (const raw of [first, second]) {
      raw.write(LIVEZ);
      expect(await raw.answer()).toMatchObject({ status: 200 });
    }
    const third = await RawConnection.open(app.url);
    // A reset or an ordinary end; but at once, and not with 408 after the time for the headers.
    const { state, rest } = await third.end();
    expect({ isOpen: state === 'open', rest }).toEqual({ isOpen: false, rest: '' });
    third.destroy();
    first.destroy();
    await until(async () => {
      const again = await RawConnection.open(app.url);
      again.write(LIVEZ);
      const answer = await again.answer().catch(() => undefined);
      again.destroy();
      return answer?.status === 200;
    });
    second.destroy();
    await app.close();
  });

  it('KEEP_ALIVE_TIMEOUT_MS: a connection without a request is closed, without a word', async () => {
    const app = await startApp({ keepAliveTimeoutMs: 50 });
    const raw = await RawConnection.open(app.url);
    raw.write(LIVEZ);
    expect(await raw.answer()).toMatchObject({ status: 200 });
    expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
    raw.destroy();
    await app.close();
  });

  it('a client that sends a byte now and then does not slow another one', async () => {
    const app = await startApp({ headersTimeoutMs: 60_000, requestTimeoutMs: 60_000 });
    const slow = await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(app.url)));
    for (const raw of slow) raw.write('GET /v1/pets HT');
    expect((await app.get('/v1/pets')).status).toBe(200);
    const rest = `TP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n\r\n`;
    for (const raw of slow) for (const byte of rest) raw.write(byte);
    for (const raw of slow) {
      expect(await raw.answer()).toMatchObject({ status: 200 });
      raw.destroy();
    }
    await app.close();
  });
});
