import { schemaConfig } from '../support/schema-config';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { migrate } from '../../src/platform/database/migrate';
import { userMessage } from '../../src/app/user-message';
import { startCuttingProxy } from '../failure/support/cutting-proxy';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { rejectionOf } from '../support/start';

/** Migrates the database as a start does, and returns the sentence with which that fails. */
function failureOf(databaseUrl: string): Promise<string> {
  return migrate(schemaConfig(databaseUrl, { DATABASE_POOL_WAIT_MS: '300' })).then(
    () => 'no failure',
    userMessage,
  );
}

describe('a start with an unusable DATABASE_URL', () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startOwnServer();
  });
  afterAll(() => server.remove());

  it('explains in one sentence that the password is wrong or missing', async () => {
    const [{ hba_file: file } = { hba_file: '' }] = await query<{ hba_file: string }>(
      server.adminUrl(),
      'SHOW hba_file',
    );
    writeFileSync(file, `local all guarded scram-sha-256\n${readFileSync(file, 'utf8')}`);
    await query(server.adminUrl(), 'SELECT pg_reload_conf()');
    await query(server.adminUrl(), `CREATE ROLE guarded LOGIN PASSWORD 'right'`);
    const url = new URL(server.url());
    url.username = 'guarded';
    expect(await failureOf(url.href)).toMatch(/^The database asks for a password: /);
    url.password = 'wrong';
    expect(await failureOf(url.href)).toMatch(/^The database rejected the password: /);
    expect(await rejectionOf({ DATABASE_URL: url.href })).toBe(
      'The database rejected the password: correct it in DATABASE_URL.',
    );
    url.password = 'right';
    expect(await failureOf(url.href)).toMatch(/^The user in DATABASE_URL may not create tables: /);
  });

  it('explains that the server is too old', async () => {
    const proxy = await startCuttingProxy(server.url());
    const [row] = await query<{ server_version_num: string }>(server.url(), 'SHOW server_version_num');
    proxy.replaced = [row!.server_version_num, '140012'];
    expect(await failureOf(proxy.through(server.url()))).toMatch(
      /^The server in DATABASE_URL is PostgreSQL 14, and Animal Store needs 15 or later: /,
    );
    await proxy.close();
  });

  it('explains that the server is unreachable, unknown, or not a PostgreSQL', async () => {
    for (const behave of [ignore, respondAsWebServer]) {
      const listener = createServer(behave).listen(0, '127.0.0.1');
      expect(await failureOf(await urlOf(listener))).toMatch(UNREACHABLE);
      listener.close();
    }
    expect(await rejectionOf({ DATABASE_URL: 'postgres://no-such-host.invalid/x' })).toMatch(UNREACHABLE);
  });
});

const UNREACHABLE =
  /^The database cannot be reached \(.*\w.*\): check DATABASE_URL, and that the server runs\.$/;

function ignore(socket: Socket): void {
  socket.on('error', () => undefined);
}

function respondAsWebServer(socket: Socket): void {
  socket.on('error', () => undefined).once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
}

async function urlOf(listener: Server): Promise<string> {
  await once(listener, 'listening');
  return `postgres://x@127.0.0.1:${(listener.address() as AddressInfo).port}/x`;
}
