import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { describeWhen } from '../support/it-when';
import { rejectionOf } from '../support/start';
import { type CuttingProxy, startCuttingProxy } from './support/cutting-proxy';
import { createTwo, expectOutage, expectRecovery } from './support/expect-unavailable';
import { emptyPool } from './support/pool';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const ADDRESS = '127.0.0.1';
const NEW_KEY = 'req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test';

/** Makes a certificate authority in a folder of its own. */
function createAuthority() {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-tls-'));
  const at = (name: string) => join(folder, name);
  const openssl = (line: string) => execFileSync('openssl', line.split(' '), { cwd: folder, stdio: 'pipe' });
  openssl(`${NEW_KEY} -x509 -days 2 -keyout ca.key -out ca.crt`);
  return {
    /** The file with its certificate, for `sslrootcert`. */
    file: at('ca.crt'),
    /** @param days its validity from now; a negative number for an expired one */
    issue: (address: string, days: number) => {
      openssl(`${NEW_KEY} -addext subjectAltName=IP:${address} -keyout key -out request`);
      const signed = `x509 -req -in request -CA ca.crt -CAkey ca.key -copy_extensions copy`;
      openssl(`${signed} -days ${days} -out certificate`);
      return { key: readFileSync(at('key')), cert: readFileSync(at('certificate')) };
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

describeWhen(hasOpenssl, 'openssl is not installed')('a connection to PostgreSQL that cannot be made', () => {
  const authority = createAuthority();
  const other = createAuthority();
  const right = authority.issue(ADDRESS, 2);
  let proxy: CuttingProxy;
  let app: TestApp;
  let url: string;
  beforeAll(async () => {
    const database = await createDatabase();
    proxy = await startCuttingProxy(database.directUrl);
    proxy.certificate = right;
    url = proxy.through(database.directUrl, `sslmode=verify-full&sslrootcert=${authority.file}`);
    app = await startApp({ databasePoolSize: 3 }, { database: { ...database, url } });
  });
  afterAll(async () => {
    await app.close();
    await proxy.close();
    for (const each of [authority, other]) each.remove();
  });

  const INVALID = /^The database cannot be used \(.*certificate.*\): check DATABASE_URL/;

  it.each([
    ['the certificate is expired', authority, ADDRESS, -1],
    ['it is for another address', authority, '192.0.2.1', 2],
    ['it is of another authority', other, ADDRESS, 2],
  ] as const)('is 503 while %s, and one sentence at a start', async (_what, issuer, address, days) => {
    const pets = await createTwo(app);
    proxy.certificate = issuer.issue(address, days);
    await emptyPool(app, () => proxy.end());
    for (let round = 0; round < 2; round += 1) await expectOutage(app, pets);
    expect(await rejectionOf({ DATABASE_URL: url })).toMatch(INVALID);
    proxy.certificate = right;
    await expectRecovery(app, pets);
    expect(app.log.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  });

  it('is 503 while the file of sslrootcert is missing', async () => {
    const pets = await createTwo(app);
    renameSync(authority.file, `${authority.file}.old`);
    await emptyPool(app, () => proxy.end());
    await expectOutage(app, pets);
    renameSync(`${authority.file}.old`, authority.file);
    await expectRecovery(app, pets);
  });

  it.each([
    ['sslrootcert=system', INVALID],
    // The driver prints a warning for it.
    ['sslmode=require', INVALID],
    [
      `channel_binding=require&sslrootcert=${authority.file}`,
      /^The database cannot be used \(.*\): check DATABASE_URL/,
    ],
  ])(
    'ends the start in one sentence, and without a warning of the driver: %s',
    async (parameters, sentence) => {
      const emitted = jest.spyOn(process, 'emitWarning');
      expect(await rejectionOf({ DATABASE_URL: proxy.through(url, parameters) })).toMatch(sentence);
      expect(emitted).not.toHaveBeenCalled();
      emitted.mockRestore();
    },
  );
});
