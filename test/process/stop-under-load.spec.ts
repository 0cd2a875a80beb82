import { Agent } from 'node:http';
import { poolOf } from '../failure/support/pool';
import { createDatabase } from '../support/database';
import { send } from '../support/http';
import { isRefused } from '../support/is-refused';
import { startHere } from '../support/start';
import { until } from '../support/until';

const IN_FLIGHT = 200;

describe('a stop', () => {
  it(`with ${IN_FLIGHT} requests in flight completes all with Connection: close, and accepts no connections`, async () => {
    const database = await createDatabase();
    const service = await startHere({
      DATABASE_URL: database.url,
      DATABASE_POOL_WAIT_MS: '30000',
      LOG_LEVEL: 'silent',
    });
    const { url, key, app } = service;
    let arrived = 0;
    app.getHttpServer().on('request', () => (arrived += 1));
    // No request is completed until these connections are released.
    const pool = poolOf({ nest: app });
    const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    const agent = new Agent({ keepAlive: true });
    const create = (at: number) =>
      send(url, 'POST', '/v1/pets', { key, agent, body: { name: `in flight ${at}`, categoryId: 1 } });
    const inFlight = Array.from({ length: IN_FLIGHT }, (_, at) => create(at));
    await until(() => arrived === IN_FLIGHT);
    const stopped = service.stop();
    await until(() => isRefused(url));
    for (const client of held) client.release();
    const responses = await Promise.all(inFlight);
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 201));
    expect(responses.map(({ headers }) => headers.connection)).toEqual(responses.map(() => 'close'));
    await stopped;
    const [stored] = await database.query('SELECT count(*)::integer AS count FROM pets');
    expect(stored).toEqual({ count: IN_FLIGHT });
    await database.drop();
  });
});
