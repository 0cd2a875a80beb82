import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Client, type ClientConfig, Pool } from 'pg';
import { isDatabaseUnavailable } from '../../src/platform/database/database-errors';
import { createDatabase, END_OTHER_SESSIONS, type TestDatabase } from '../support/database';

/** node-postgres and pg-pool have no codes for their own errors: a new version may word them in another way. */
describe('a statement that the installed driver does not send is 503, by the message of the driver', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  const clientOf = async (): Promise<Client> => {
    const client = new Client({ connectionString: database.directUrl });
    await client.connect();
    return client;
  };

  /** Connects to a server of the spec. */
  const connectTo = async (serve: (socket: Socket) => void, options: ClientConfig): Promise<unknown> => {
    const server = createServer(serve).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return new Client({ host: '127.0.0.1', port, ...options }).connect().finally(() => server.close());
  };

  it.each<[string, () => Promise<unknown>]>([
    [
      'Client was closed and is not queryable',
      async () => {
        const client = await clientOf();
        await client.end();
        return client.query('SELECT 1');
      },
    ],
    [
      'Client has encountered a connection error and is not queryable',
      async () => {
        const client = await clientOf();
        const lost = new Promise((resolve) => client.on('error', resolve));
        await database.query(END_OTHER_SESSIONS);
        await lost;
        return client.query('SELECT 1');
      },
    ],
    [
      'Cannot use a pool after calling end on the pool',
      async () => {
        const pool = new Pool({ connectionString: database.directUrl });
        await pool.end();
        return pool.query('SELECT 1');
      },
    ],
    [
      'timeout exceeded when trying to connect',
      async () => {
        const pool = new Pool({
          connectionString: database.directUrl,
          max: 1,
          connectionTimeoutMillis: 10_000,
        });
        const client = await pool.connect();
        pool.options.connectionTimeoutMillis = 1;
        try {
          return await pool.connect();
        } finally {
          client.release();
          await pool.end();
        }
      },
    ],
    ['timeout expired', () => connectTo(() => undefined, { connectionTimeoutMillis: 1 })],
    [
      'The server does not support SSL connections',
      () => connectTo((socket) => socket.once('data', () => socket.end('N')), { ssl: true }),
    ],
  ])('%s', async (message, fail) => {
    const error = await fail().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message });
    expect(isDatabaseUnavailable(error)).toBe(true);
  });
});
