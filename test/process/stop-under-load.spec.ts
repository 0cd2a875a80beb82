import { Agent } from 'node:http';
import { createDatabase } from '../support/database';
import { send } from '../support/http';
import { startHere } from '../support/start';
import { until } from '../support/until';

const IN_FLIGHT = 200;
const POOL_SIZE = 10;

describe('a stop', () => {
  it(`with ${IN_FLIGHT} requests in flight answers all of them with Connection: close, and refuses new ones`, async () => {
    const database = await createDatabase();
    const service = await startHere({
      DATABASE_URL: database.url,
      DATABASE_POOL_WAIT_MS: '30000',
      LOG_LEVEL: 'silent',
    });
    const { url, key, app } = service;
    let arrived = 0;
    app.getHttpServer().on('request', () => (arrived += 1));
    // Nothing that writes animals can be answered until this lock is given back.
    await database.query('BEGIN');
    await database.query('LOCK TABLE pets IN SHARE MODE');
    const agent = new Agent({ keepAlive: true });
    const ask = (at: number) =>
      send(url, 'POST', '/v1/pets', { key, agent, body: { name: `in flight ${at}`, categoryId: 1 } });
    const inFlight = Array.from({ length: IN_FLIGHT }, (_, at) => ask(at));
    await until(() => arrived === IN_FLIGHT);
    await until(async () => (await database.query(WAITING)).length === POOL_SIZE);
    const stopped = service.stop();
    const refused = () =>
      send(url, 'GET', '/livez', { agent: new Agent() }).then(
        () => false,
        () => true,
      );
    await until(refused);
    await database.query('COMMIT');
    const answers = await Promise.all(inFlight);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(answers.map(({ headers }) => headers.connection)).toEqual(answers.map(() => 'close'));
    await stopped;
    const [stored] = await database.query('SELECT count(*)::integer AS count FROM pets');
    expect(stored).toEqual({ count: IN_FLIGHT });
    await database.drop();
  });
});

/** Not pg_stat_activity: within a transaction it stays as it was first read. */
const WAITING = `
  SELECT pid FROM pg_locks WHERE NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
