import { Readable } from 'node:stream';
import { Module } from '@nestjs/common';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { dataFolder } from '../support/service';
import { rejectionOf, startHere } from '../support/start';

const KEY_ID = '00000000-0000-4000-8000-000000000000';
const IN_USE =
  'A service uses the database, or did so in the last 10 s: stop every instance and try again.\n';

describe('with DATABASE_URL', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.drop());
  const cli = (command: string, more: Readonly<Record<string, string>> = {}) =>
    runCli(command.split(' '), { DATABASE_URL: database.directUrl, ...more });
  const keyOf = async (deployment: string) =>
    (await cli('keys create --account acme --json', { DEPLOYMENT: deployment })).json().key as string;

  it('db revert and db restore change nothing while a service uses the database', async () => {
    const service = await startHere({ DATABASE_URL: database.directUrl });
    const folder = dataFolder();
    const file = `${folder.path}/backup`;
    await cli(`db backup ${file}`);
    const before = await database.query('SELECT name FROM migrations');
    for (const command of ['db revert --yes', 'db revert --extension kennels --yes', `db restore ${file}`])
      expect(await cli(command)).toMatchObject({ status: 1, all: IN_USE });
    expect((await send(service.url, 'GET', '/v1/pets', { key: service.key })).status).toBe(200);
    expect(await database.query('SELECT name FROM migrations')).toEqual(before);
    await service.stop();
    folder.remove();
    expect(await cli('db revert --yes --json')).toMatchObject({ status: 0 });
  });

  it('a db revert while a service starts is repaired by its start', async () => {
    const reverted = { provide: 'REVERTED', useFactory: () => cli('db revert --yes') };
    @Module({ providers: [reverted] })
    class RevertingModule {}
    const service = await startHere(
      { DATABASE_URL: database.directUrl },
      { extensions: [{ name: 'reverting', modules: [RevertingModule] }] },
    );
    expect(await service.app.get(reverted.provide, { strict: false })).toMatchObject({ status: 0 });
    expect((await send(service.url, 'GET', '/v1/pets', { key: service.key })).status).toBe(200);
    expect((await cli('db status')).out).not.toContain('pending');
    await service.stop();
  });

  it('db revert is rejected for 10 s after a service was killed', async () => {
    // A view: the row has this age whenever the command reads it.
    const instance = (age: string) =>
      database.query(`CREATE OR REPLACE VIEW rate_limit_instances AS
        SELECT gen_random_uuid() AS id, clock_timestamp() - interval '${age}' AS seen_at`);
    await database.query('ALTER TABLE rate_limit_instances RENAME TO replaced');
    await instance('9 s');
    expect(await cli('db revert --yes')).toMatchObject({ status: 1, all: IN_USE });
    await instance('11 s');
    expect(await cli('db revert --yes')).toMatchObject({ status: 0 });
  });

  it('keys have the kind of the last start without keys, for any command before it and any DEPLOYMENT of a command; a restored store has that of its next start', async () => {
    const production = { DEPLOYMENT: 'production' };
    const settings = { DATABASE_URL: database.directUrl, ...production };
    await cli('seed --pets 1');
    await (await startHere({ ...settings, DEPLOYMENT: 'staging' })).stop();
    const service = await startHere(settings);
    const key = await keyOf('development');
    expect(key).toMatch(/^ask_live_/);
    expect((await send(service.url, 'GET', '/v1/pets', { key })).status).toBe(200);
    await service.stop();
    expect(await rejectionOf({ ...settings, DEPLOYMENT: 'staging' })).toMatch(
      /^The keys of this database begin with ask_live_, and those of this DEPLOYMENT with ask_test_: correct DEPLOYMENT .*\.$/,
    );
    const folder = dataFolder();
    const file = `${folder.path}/backup`;
    await cli(`db backup ${file}`);
    const copy = await createDatabase('template0');
    expect(await cli(`db restore ${file}`, { DATABASE_URL: copy.directUrl })).toMatchObject({ status: 0 });
    // A start with the wrong DEPLOYMENT is not final: there are no keys of its kind.
    for (const chosen of [{}, production])
      await (await startHere({ DATABASE_URL: copy.directUrl, ...chosen })).stop();
    expect(await rejectionOf({ DATABASE_URL: copy.directUrl })).toMatch(/begin with ask_live_,/);
    await copy.drop();
    folder.remove();
  });

  it.each(['db revert', `keys revoke ${KEY_ID}`])(
    '%s asks on a terminal, and changes nothing unless the reply is yes',
    async (command) => {
      const replying = async (reply: string) => {
        const terminal = Object.assign(Readable.from([reply]), { isTTY: true });
        const stdin = jest.spyOn(process, 'stdin', 'get').mockReturnValue(terminal as typeof process.stdin);
        const { status, all } = await cli(command);
        stdin.mockRestore();
        return [status, all];
      };
      await database.query(
        `WITH a AS (INSERT INTO accounts (name, plan) VALUES ('acme', 'free') RETURNING id)
         INSERT INTO api_keys (id, account_id, secret_hash, prefix, last_four, scopes)
         SELECT $1, id, sha256(''), 'ask_test_', 'abcd', '{pets:read}' FROM a`,
        [KEY_ID],
      );
      const state = () => database.query('SELECT name, (SELECT revoked_at FROM api_keys) FROM migrations');
      const before = await state();
      for (const reply of ['n\n', '\n', '', 'yesterday\n'])
        expect(await replying(reply)).toEqual([
          1,
          expect.stringMatching(/\[y\/N\] Nothing was changed\.\n$/),
        ]);
      expect(await cli(command)).toMatchObject({ status: 2, all: expect.stringContaining('add --yes') });
      expect(await state()).toEqual(before);
      expect(await replying('y\n')).toEqual([0, expect.stringMatching(/Continue\? \[y\/N\] Rev/)]);
      expect(await state()).not.toEqual(before);
    },
  );
});
