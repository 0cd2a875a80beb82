import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { followHistories, PROGRAMS } from '../events/support/mirror';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { type ServiceHere, startHere } from '../support/start';
import { ALL_SCOPES, createKey } from './support/keys';

/** EVENTS_ROUNDS=full runs as many as a release needs. */
const ROUNDS = process.env['EVENTS_ROUNDS'] === 'full' ? 200 : 30;

jest.setTimeout(3_600_000);

describe('the example mirrors', () => {
  let server: OwnServer;
  const instances: ServiceHere[] = [];
  beforeAll(async () => {
    const cwd = join(__dirname, '..', '..');
    execFileSync('npm', ['run', '-s', 'build:client'], { cwd, stdio: 'inherit' });
    server = await startOwnServer();
  });
  afterAll(async () => {
    for (const instance of instances) await instance.stop();
    await server.remove();
  });

  it(`with and without each client equal the tables after each of ${ROUNDS} random histories over two instances with a kill, and never show an older state`, async () => {
    const environment = { DATABASE_URL: server.url(), LOG_LEVEL: 'silent' };
    for (let at = 0; at < 2; at += 1) instances.push(await startHere(environment));
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const urls = instances.map(({ url }) => url);
    const store = { urls, key, query: (text: string) => query<never>(server.url(), text) };
    expect(await followHistories(store, ROUNDS, PROGRAMS)).toBe(ROUNDS);
    process.stdout.write(`mirror: ${ROUNDS} histories, each followed by ${PROGRAMS.join(', ')}\n`);
  });
});
