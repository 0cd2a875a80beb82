import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { BoundedClient } from '../../src/platform/database/data-source';
import { Hosts } from '../../src/platform/database/hosts';
import { startApp } from '../support/app';
import { createDatabase, type TestDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { aNewPet } from '../support/factories';
import { describeWhen } from '../support/it-when';
import { MAX_START_MS } from '../support/service';
import { rejectionOf } from '../support/start';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { createAuthority, hasOpenssl } from './support/certificates';
import { startCuttingProxy } from './support/cutting-proxy';
import { poolOf } from './support/pool';
import { startTlsProxy } from './support/tls-proxy';

jest.setTimeout(2 * MAX_START_MS);

describe('a DATABASE_URL with several hosts', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('waits a second for a host that never responds, and then tries it last for 30 s', async () => {
    const hole = await startHole();
    const proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
    const behind = new URL(proxy.through(database.directUrl));
    const url = behind.href.replace(behind.host, `${hole.host},${behind.host}`);
    holdTimers({ timeouts: true, measured: true });
    const skipHole = async <T>(work: Promise<T>): Promise<T> => {
      const { count } = hole;
      await until(() => hole.count > count);
      pass({ seconds: 1 });
      return work;
    };
    const app = await skipHole(
      startApp({}, { database: { ...database, url, drop: () => Promise.resolve() } }),
    );
    const reconnect = async () => {
      await until(() => {
        proxy.end();
        return poolOf(app).totalCount === 0;
      });
      return (await app.post('/v1/pets', aNewPet())).status;
    };
    for (let round = 0; round < 3; round += 1) expect(await reconnect()).toBe(201);
    expect(hole.count).toBe(1);
    pass({ seconds: 31 });
    expect(await skipHole(reconnect())).toBe(201);
    expect(hole.count).toBe(2);
    jest.useRealTimers();
    await app.close();
    await proxy.close();
    hole.close();
  });

  it('tries a host last on which a statement got no response, like the commit of a primary without standbys', async () => {
    const server = process.env[ADMIN_URL_VARIABLE] ?? '';
    const [first, second] = [await startCuttingProxy(server), await startCuttingProxy(server)];
    const [one, other] = [first, second].map((each) => new URL(each.through(database.directUrl)));
    const connectionString = one!.href.replace(one!.host, `${one!.host},${other!.host}`);
    const config = { connectionString, hosts: new Hosts(connectionString), query_timeout: 6_000 };
    const [lost, next] = [new BoundedClient(config), new BoundedClient(config)];
    await lost.connect();
    expect(second.count).toBe(0);
    holdTimers({ timeouts: true, measured: true });
    first.isSilent = true;
    const result = lost.query('SELECT 1');
    pass({ seconds: 6 });
    await expect(result).rejects.toThrow('Query read timeout');
    first.isSilent = false;
    await next.connect();
    expect(second.count).toBeGreaterThan(0);
    jest.useRealTimers();
    await next.end();
    for (const each of [first, second]) await each.close();
  });

  it('is one sentence with the hosts and without the password if none can be reached', async () => {
    const hole = await startHole();
    holdTimers({ timeouts: true });
    const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    let message = '';
    const url = `postgres://x:hunter@127.0.0.1:1,[::1]:2,${hole.host}/none`;
    void rejectionOf({ DATABASE_URL: url }).then((sentence) => (message = sentence));
    // The search waits for the hole 1, 2, 4, 8 and the last 12 s. Each time counts from the connection.
    let tries = 0;
    await until(() => {
      if (hole.count > tries) {
        pass({ seconds: Math.min(2 ** tries, 12) });
        tries += 1;
      }
      return message !== '';
    });
    expect(said).toHaveBeenCalledWith(`Waiting for the database at 127.0.0.1:1, [::1]:2, ${hole.host}…\n`);
    said.mockRestore();
    jest.useRealTimers();
    hole.close();
    const named = String.raw`127\.0\.0\.1:1: .+; \[::1\]:2: .+; ${hole.host}: timeout expired`;
    expect(message).toMatch(new RegExp(`^The database cannot be reached \\(${named}\\): check DATABASE_URL`));
    expect(message).not.toContain('hunter');
    const rejected = new URL(database.directUrl);
    rejected.pathname = '/no_such_database';
    expect(await rejectionOf({ DATABASE_URL: several(rejected) })).toMatch(
      /^The database named in DATABASE_URL does not exist/,
    );
    const form = 'postgres://x:hunter@/none?host=/nowhere,127.0.0.1&port=1';
    expect(await rejectionOf({ DATABASE_URL: form })).toMatch(
      /^The database cannot be reached \(\/nowhere: .+; 127\.0\.0\.1: .+\): check DATABASE_URL/,
    );
  });

  describeWhen(hasOpenssl, 'openssl is not installed')('with TLS', () => {
    it('expects the certificate of the host that it connects to', async () => {
      const authority = createAuthority();
      const proxy = await startTlsProxy(
        process.env[ADMIN_URL_VARIABLE] ?? '',
        authority.issue('127.0.0.1', 2100),
      );
      const { href, host, port } = new URL(
        proxy.through(database.url, `sslmode=verify-full&sslrootcert=${authority.file}`),
      );
      const url = href.replace(host, `localhost:${port},${host}`);
      const app = await startApp({}, { database: { ...database, url, drop: () => Promise.resolve() } });
      expect((await app.post('/v1/pets', aNewPet())).status).toBe(201);
      expect(
        await rejectionOf({ DATABASE_URL: href.replace(host, `localhost:${port},localhost:${port}`) }),
      ).toMatch(/^The TLS connection to the database fails \(/);
      await app.close();
      await proxy.close();
      authority.remove();
    });
  });
});

/** Names the socket folder of a URL twice, as hosts. */
function several(url: URL): string {
  const folder = encodeURIComponent(url.searchParams.get('host') ?? '');
  return `postgresql://${url.username}@${folder},${folder}${url.pathname}`;
}

/** A listener that accepts connections and never responds. */
async function startHole() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get count() {
      return sockets.length;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
