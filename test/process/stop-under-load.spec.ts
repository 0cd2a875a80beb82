import { Agent } from 'node:http';
import { poolOf } from '../failure/support/pool';
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
    // Nothing gets a response until these connections are given back.
    const pool = poolOf({ nest: app });
    const held = await Promise.all(Array.from({ length: POOL_SIZE }, () => pool.connect()));
    const agent = new Agent({ keepAlive: true });
    const ask = (at: number) =>
      send(url, 'POST', '/v1/pets', { key, agent, body: { name: `in flight ${at}`, categoryId: 1 } });
    const inFlight = Array.from({ length: IN_FLIGHT }, (_, at) => ask(at));
    await until(() => arrived === IN_FLIGHT);
    const stopped = service.stop();
    const refused = () =>
      send(url, 'GET', '/livez', { agent: new Agent() }).then(
        () => false,
        () => true,
      );
    await until(refused);
    for (const client of held) client.release();
    const answers = await Promise.all(inFlight);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(answers.map(({ headers }) => headers.connection)).toEqual(answers.map(() => 'close'));
    await stopped;
    const [stored] = await database.query('SELECT count(*)::integer AS count FROM pets');
    expect(stored).toEqual({ count: IN_FLIGHT });
    await database.drop();
  });
});
