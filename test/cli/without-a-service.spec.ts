import { readFileSync } from 'node:fs';
import { migrations } from '../support/schema-config';
import { runCli } from '../support/cli';
import { createDatabase } from '../support/database';
import { send } from '../support/http';
import { dataFolder, run, running } from '../support/service';
import { startHere } from '../support/start';

describe('the command line without a running service', () => {
  it('initialises an empty directory, and creates a live key that a later start accepts', async () => {
    const folder = dataFolder();
    const environment = { DATA_DIR: folder.path, DEPLOYMENT: 'production' };
    const { status, json } = await runCli(['keys', 'create', '--account', 'acme', '--json'], environment);
    expect(status).toBe(0);
    const { key } = json();
    expect(key).toMatch(/^ask_live_/);
    const service = await startHere(environment);
    expect((await send(service.url, 'GET', '/v1/pets', { key })).status).toBe(200);
    await service.stop();
    folder.remove();
  });

  it('reverts and applies migrations', async () => {
    const database = await createDatabase('template0');
    const cli = (...args: string[]) => runCli(args, { DATABASE_URL: database.directUrl });
    const names = migrations.map(({ name }) => name);
    const last = names.at(-1);
    expect((await cli('db', 'migrate')).out).toBe(`Applied ${names.join(', ')}.\n`);
    expect(readFileSync('docs/cli.md', 'utf8')).toContain((await cli('db', 'status')).out);
    expect((await cli('db', 'revert')).out).toBe(`Reverted ${last}.\n`);
    expect((await cli('db', 'status')).out).toMatch(new RegExp(`^(applied  .*\n)+pending  ${last}\n$`));
    expect(await cli('keys', 'list')).toMatchObject({ status: 1, out: '' });
    expect((await cli('db', 'migrate')).out).toBe(`Applied ${last}.\n`);
    for (const name of names.toReversed())
      expect((await cli('db', 'revert')).out).toBe(`Reverted ${name}.\n`);
    expect((await cli('db', 'revert')).out).toBe('There is no migration to revert.\n');
    expect((await cli('db', 'migrate')).out).toBe(`Applied ${names.join(', ')}.\n`);
    await database.drop();
  });
});

describe('two concurrent commands without a running service', () => {
  const folder = dataFolder();
  afterAll(folder.remove);

  it('succeed, and so does a service that starts meanwhile', async () => {
    const environment = { DATA_DIR: folder.path };
    const commands = Array.from({ length: 2 }, () =>
      run('cli/main', ['keys', 'create', '--account', 'race', '--json'], environment),
    );
    const service = await running(run('main', [], environment));
    const statuses = [];
    for (const command of commands) statuses.push([await command.ended, command.output().includes('"key"')]);
    expect(statuses).toEqual(commands.map(() => [0, true]));
    service.child.kill('SIGINT');
    expect(await service.ended).toBe(0);
  });
});
