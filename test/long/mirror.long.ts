import { followHistories } from '../events/support/mirror';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { type ServiceHere, startHere } from '../support/start';
import { ALL_SCOPES, createKey } from './support/keys';

/** EVENTS_ROUNDS=full runs as many as a release needs. */
const ROUNDS = process.env['EVENTS_ROUNDS'] === 'full' ? 200 : 30;

jest.setTimeout(3_600_000);

describe('the example mirror', () => {
  let server: OwnServer;
  const instances: ServiceHere[] = [];
  beforeAll(async () => {
    server = await startOwnServer();
  });
  afterAll(async () => {
    for (const instance of instances) await instance.stop();
    await server.remove();
  });

  it(`equals the tables after each of ${ROUNDS} random histories over two instances with a kill, and never shows an older state`, async () => {
    const environment = { DATABASE_URL: server.url(), LOG_LEVEL: 'silent' };
    for (let at = 0; at < 2; at += 1) instances.push(await startHere(environment));
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const urls = instances.map(({ url }) => url);
    const store = { urls, key, query: (text: string) => query<never>(server.url(), text) };
    expect(await followHistories(store, ROUNDS)).toBe(ROUNDS);
    process.stdout.write(`mirror: ${ROUNDS} histories\n`);
  });
});
