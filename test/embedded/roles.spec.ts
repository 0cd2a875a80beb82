import { execFileSync } from 'node:child_process';
import { chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbedded } from '../../src/embedded-postgres';
import { findBinaries } from '../../src/embedded-postgres/binaries';
import { run } from '../../src/embedded-postgres/command';
import { prepareData } from '../../src/embedded-postgres/data-directory';
import { chooseServerUser } from '../../src/embedded-postgres/server-user';
import { cleanUp, options, query, rejectionOf, temporaryFolder } from './support/harness';

/** Every kind of object that the superuser of an earlier version or an administrator may have created. */
const OLD_OBJECTS = `
  CREATE TABLE pets (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "a name" text);
  CREATE TABLE "Odd.Name" (id serial, at timestamptz) PARTITION BY RANGE (at);
  CREATE TABLE part PARTITION OF "Odd.Name" DEFAULT;
  CREATE SEQUENCE numbers;
  CREATE VIEW names AS SELECT "a name" FROM pets;
  CREATE MATERIALIZED VIEW kept AS SELECT 1;
  CREATE TYPE status AS ENUM ('available');
  CREATE TYPE pair AS (a int, b int);
  CREATE DOMAIN small AS int;
  CREATE FUNCTION half(n int) RETURNS int LANGUAGE sql AS 'SELECT n / 2';
  CREATE PROCEDURE nothing() LANGUAGE sql AS '';
  CREATE SCHEMA aside CREATE TABLE rest ();
  INSERT INTO pets ("a name") VALUES ('Rex'), ('Mimi');
  ALTER ROLE app IN DATABASE postgres SET statement_timeout = '5000ms';`;

/** Creates data folders of an earlier version: their superuser is `app`, which owns everything. */
async function makeOldFolders(directory: string, used: string): Promise<void> {
  const user = chooseServerUser();
  prepareData({ directory, moved: false }, user);
  const { bin, environment } = await findBinaries({ binDir: undefined, directory, user });
  const common = { user, environment, limitSeconds: 60 };
  const init = ['-D', join(directory, 'pg18'), '-U', 'app', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  expect((await run({ ...common, file: join(bin, 'initdb'), args: init })).ok).toBe(true);
  const execute = async (folder: string, input: string) => {
    const args = ['--single', '-j', '-D', join(folder, 'pg18'), '-c', 'exit_on_error=on', 'postgres'];
    const { ok, output } = await run({ ...common, file: join(bin, 'postgres'), args, input });
    expect(ok ? '' : output).toBe('');
  };
  await execute(directory, `${OLD_OBJECTS.replaceAll(';\n', ';\n\n')}\n\n`);
  execFileSync('cp', ['-a', directory, used]);
  await execute(used, 'CREATE ROLE postgres SUPERUSER LOGIN;\n\nCREATE DATABASE reports;\n\n');
}

const NOT_OWNED = `
  SELECT name, owner::regrole::text FROM (
    SELECT relname, relowner, relnamespace FROM pg_class
    UNION ALL SELECT proname, proowner, pronamespace FROM pg_proc
    UNION ALL SELECT typname, typowner, typnamespace FROM pg_type
    UNION ALL SELECT nspname, nspowner, oid FROM pg_namespace WHERE nspname <> 'public'
  ) AS objects (name, owner, namespace)
  WHERE owner <> 'app'::regrole AND namespace::regnamespace::text !~ '^(pg_|information_schema$)'
  UNION ALL SELECT datname, datdba::regrole::text FROM pg_database
  WHERE datname = 'postgres' AND datdba <> 'app'::regrole`;

describe('the role of every connection', () => {
  const folder = temporaryFolder();
  const old = join(folder, 'old');
  const used = join(folder, 'used');
  beforeAll(() => makeOldFolders(old, used));
  afterAll(cleanUp);

  const onServer = async (dataDir: string, work: (url: string) => Promise<void>) => {
    const server = await startEmbedded(options(dataDir));
    try {
      await work(server.url());
    } finally {
      await server.stop();
    }
  };
  const expectNoSuperuser = async (url: string) => {
    const [row] = await query(url, `SELECT current_setting('is_superuser') AS super, current_user AS name`);
    expect(row).toEqual({ super: 'off', name: 'app' });
    for (const forbidden of [
      `COPY (SELECT 1) TO PROGRAM 'cat'`,
      `COPY pg_class TO '/tmp/x'`,
      'SET ROLE postgres',
    ])
      expect(await rejectionOf(query(url, forbidden))).toContain('permission denied');
    for (const role of ['postgres', 'nobody']) {
      const other = url.replace('app@', `${role}@`);
      expect(await rejectionOf(query(other, 'SELECT 1'))).toContain('no pg_hba.conf entry');
    }
  };

  it('is not a superuser, and owns every object of an earlier data folder after one start; its rows are kept', () =>
    onServer(old, async (url) => {
      await expectNoSuperuser(url);
      expect(await query(url, NOT_OWNED)).toEqual([]);
      expect(await query(url, 'SELECT id, "a name" AS name FROM pets ORDER BY id')).toEqual([
        { id: '1', name: 'Rex' },
        { id: '2', name: 'Mimi' },
      ]);
      expect(await query(url, `INSERT INTO pets ("a name") VALUES ('new') RETURNING id`)).toEqual([
        { id: '3' },
      ]);
      await query(url, 'ALTER TABLE pets ADD more int; DROP SCHEMA aside CASCADE; DROP VIEW names');
    }));

  it('is separated in a folder with a role `postgres` and a database of an administrator', async () => {
    const { uid = process.getuid!(), gid = process.getgid!() } = chooseServerUser() ?? {};
    writeFileSync(join(used, 'pg18', 'postmaster.opts'), '');
    chownSync(join(used, 'pg18', 'postmaster.opts'), uid, gid);
    const before = readFileSync(join(used, 'pg18', 'pg_hba.conf'), 'utf8');
    await onServer(used, async (url) => {
      await expectNoSuperuser(url);
      await query(url, 'DROP DATABASE reports');
    });
    expect(readFileSync(join(used, 'pg18', 'pg_hba.conf.before'), 'utf8')).toBe(before);
  });

  it('is separated again by the next start if a start was killed before its last step', async () => {
    const admissions = join(old, 'pg18', 'pg_hba.conf');
    const after = readFileSync(admissions, 'utf8');
    writeFileSync(admissions, 'local all all trust\n');
    // That one had kept what an administrator wrote.
    writeFileSync(`${admissions}.before`, 'local all guest trust\n');
    await onServer(old, expectNoSuperuser);
    expect(readFileSync(admissions, 'utf8')).toBe(after);
    expect(readFileSync(`${admissions}.before`, 'utf8')).toBe('local all guest trust\n');
  });

  it('keeps the lines that an administrator adds to pg_hba.conf', async () => {
    const admissions = join(old, 'pg18', 'pg_hba.conf');
    const edited = `local all guest trust\n${readFileSync(admissions, 'utf8')}`;
    writeFileSync(admissions, edited);
    await onServer(old, async () => undefined);
    expect(readFileSync(admissions, 'utf8')).toBe(edited);
  });
});
