import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStore, version } from '../../src/app/store';
import { CommandContext } from '../../src/cli/context';
import type { OutputCommand } from '../../src/cli/output';
import { createProgram } from '../../src/cli/program';
import { startApp } from '../support/app';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { aNewPet } from '../support/factories';
import { freePort } from '../support/free-port';
import { itWhen } from '../support/it-when';
import { NO_SETTINGS, PATIENCE } from '../support/no-settings';
import { dataFolder } from '../support/service';

/** The arguments of each command, in the order of the runs. `new` packs for a minute, and `start` runs on. */
const COMMANDS: Readonly<Record<string, string>> = {
  'keys create': '--account acme',
  'keys list': '',
  'keys set-scopes': 'ID --scopes pets:read',
  'keys set-addresses': 'ID --addresses any',
  'keys rotate': 'ID',
  'keys unban': 'ID',
  'keys revoke': 'ID --yes',
  'accounts list': '',
  'accounts set-plan': 'acme --plan pro',
  'accounts disable': 'acme',
  'accounts enable': 'acme',
  'audit list': '',
  usage: '',
  seed: '--pets 1',
  'pets export': '',
  'pets import': 'PETS --dry-run',
  'db status': '',
  'db migrate': '',
  'db backup': 'FILE',
  'db restore': 'FILE',
  'db revert': '--yes',
};
const LEFT_OUT = ['new', 'start'];
const CREATING = new Set(['db migrate', 'db restore']);
const KEY_ID = '00000000-0000-4000-8000-000000000000';
/** Runs commands in one process, then the service. Prints the status of each, and what it wrote to standard error. */
const PROGRAM = `
  const { exit, stderr } = process;
  const { write } = stderr;
  const { runAnimalStoreCommand } = require('./src/cli/program');
  const run = async ([url, ...args]) => {
    process.env.DATABASE_URL = url;
    let [exit, errors] = [undefined, ''];
    // Each command has the listeners of its own process.
    for (const stream of [process.stdout, stderr]) stream.removeAllListeners('error');
    process.exit = (status) => (exit ??= status);
    stderr.write = (text) => (errors += text);
    const status = await runAnimalStoreCommand(args);
    await new Promise(setImmediate);
    return { status: exit ?? status, errors };
  };
  (async () => {
    for (const args of JSON.parse(process.env.RUNS)) {
      const line = JSON.stringify(await run(args));
      write.call(stderr, line + '\\n');
    }
    Object.assign(process, { exit });
    Object.assign(stderr, { write });
    // On the database of the last command.
    await require('./src').startAnimalStore();
    const { status } = await fetch('http://127.0.0.1:' + process.env.PORT + '/readyz');
    stderr.write('/readyz is ' + status);
    for (const signal of ['SIGTERM', 'SIGINT']) process.kill(process.pid, signal);
  })();`;

const leavesOf = ({ commands }: OutputCommand, prefix = ''): string[] =>
  commands.flatMap((command) => {
    const name = `${prefix}${command.name()}`;
    return command.commands.length > 0 ? leavesOf(command as OutputCommand, `${name} `) : [name];
  });

const FULL =
  /^Standard output cannot be written \(ENOSPC: .*\)\. Free space on its disk, or restart its reader\.$/m;

describe('every command', () => {
  const folder = dataFolder();
  afterAll(folder.remove);
  const pets = join(folder.path, 'pets.jsonl');
  writeFileSync(pets, `${JSON.stringify(aNewPet())}\n`);
  const given = (name: string, values: Readonly<Record<string, string>>) =>
    [...name.split(' '), ...COMMANDS[name]!.split(' ').filter(Boolean)].map((each) => values[each] ?? each);

  it('is in the list of these specs', async () => {
    const program = createProgram(new CommandContext(createStore()));
    expect(leavesOf(program).toSorted()).toEqual([...Object.keys(COMMANDS), ...LEFT_OUT].toSorted());
    expect(await runCli(['--version'])).toMatchObject({ status: 0, out: `${version}\n` });
  });

  it.each(Object.keys(COMMANDS).filter((name) => !CREATING.has(name)))(
    '%s: in a folder without a database it creates none, and exits with 1 and one sentence',
    async (name) => {
      const empty = dataFolder();
      const args = given(name, { ID: KEY_ID, FILE: '/nowhere/file', PETS: pets });
      const { status, out, all } = await runCli(args, { DATA_DIR: empty.path });
      expect({ status, out }).toEqual({ status: 1, out: '' });
      expect(all).toMatch(
        /^There is no database in .*: run the command in the folder of the service, .*\.\n$/,
      );
      expect(readdirSync(empty.path)).toEqual([]);
      empty.remove();
    },
  );

  itWhen(process.platform === 'linux', 'needs /dev/full')(
    'fails with one sentence if standard output is on a full disk, but a start succeeds',
    async () => {
      const app = await startApp();
      await app.post('/v1/pets', aNewPet());
      const [empty, unused] = [await createDatabase('template0'), await createDatabase('template0')];
      // A service uses the database of the others.
      const databases: Record<string, TestDatabase> = {
        'db restore': empty,
        'db migrate': unused,
        'db revert': unused,
      };
      const values = { ID: (await app.createKey()).id, FILE: join(folder.path, 'backup'), PETS: pets };
      const runs = Object.keys(COMMANDS).map((name) => [
        (databases[name] ?? app.database).directUrl,
        ...given(name, values),
      ]);
      for (const option of ['--help', '--version']) runs.push([unused.directUrl, option]);
      const full = openSync('/dev/full', 'w');
      const { status, stderr } = spawnSync(
        process.execPath,
        ['-r', './test/support/typescript.cjs', '-e', PROGRAM],
        {
          stdio: ['ignore', full, 'pipe'],
          env: {
            ...process.env,
            ...NO_SETTINGS,
            ...PATIENCE,
            PORT: String(await freePort()),
            RUNS: JSON.stringify(runs),
          },
          encoding: 'utf8',
        },
      );
      closeSync(full);
      const results = stderr.split('\n');
      expect([results.splice(runs.length), status]).toEqual([['/readyz is 200'], 0]);
      for (const [at, [, ...args]] of runs.entries()) {
        const result = JSON.parse(results[at]!);
        expect({ args, ...result }).toEqual({ args, status: 1, errors: expect.stringMatching(FULL) });
      }
      await Promise.all([empty.drop(), unused.drop()]);
      await app.close();
    },
  );
});
