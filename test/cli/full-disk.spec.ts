import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStore } from '../../src/app/store';
import { CommandContext } from '../../src/cli/context';
import type { OutputCommand } from '../../src/cli/output';
import { createProgram } from '../../src/cli/program';
import { startApp } from '../support/app';
import { createDatabase, type TestDatabase } from '../support/database';
import { aNewPet } from '../support/factories';
import { itWhen } from '../support/it-when';
import { dataFolder, MAX_START_MS, runProgram } from '../support/service';

jest.setTimeout(4 * MAX_START_MS);

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
/** Runs commands in one process. Prints the status of each, and what it wrote to standard error. */
const PROGRAM = `
  const { runAnimalStoreCommand } = require('./src/cli/program');
  const run = async ([url, ...args]) => {
    process.env.DATABASE_URL = url;
    let [exit, errors] = [undefined, ''];
    // Each command has the listeners of its own process.
    for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
    process.exit = (status) => (exit ??= status);
    process.stderr.write = (text) => (errors += text);
    const status = await runAnimalStoreCommand(args);
    await new Promise(setImmediate);
    return { status: exit ?? status, errors };
  };
  (async () => {
    const { write } = process.stderr;
    for (const args of JSON.parse(process.env.RUNS)) {
      const line = JSON.stringify(await run(args));
      write.call(process.stderr, line + '\\n');
    }
  })();`;

const leavesOf = ({ commands }: OutputCommand, prefix = ''): string[] =>
  commands.flatMap((command) => {
    const name = `${prefix}${command.name()}`;
    return command.commands.length > 0 ? leavesOf(command as OutputCommand, `${name} `) : [name];
  });

describe('a command whose standard output is on a full disk', () => {
  itWhen(process.platform === 'linux', 'needs /dev/full')('fails, each with one sentence', async () => {
    const program = createProgram(new CommandContext(createStore()));
    expect(leavesOf(program).toSorted()).toEqual([...Object.keys(COMMANDS), ...LEFT_OUT].toSorted());
    const app = await startApp();
    await app.post('/v1/pets', aNewPet());
    const [empty, unused] = [await createDatabase('template0'), await createDatabase('template0')];
    // A service uses the database of the others.
    const databases: Record<string, TestDatabase> = {
      'db restore': empty,
      'db migrate': unused,
      'db revert': unused,
    };
    const folder = dataFolder();
    const values: Record<string, string> = {
      ID: (await app.createKey()).id,
      FILE: join(folder.path, 'backup'),
      PETS: join(folder.path, 'pets.jsonl'),
    };
    writeFileSync(values['PETS']!, `${JSON.stringify(aNewPet())}\n`);
    const runs = Object.entries(COMMANDS).flatMap(([name, given]) => {
      const args = given.split(' ').filter(Boolean);
      const { directUrl } = databases[name] ?? app.database;
      const run = [directUrl, ...name.split(' '), ...args.map((each) => values[each] ?? each)];
      return name === 'keys create' ? [run, [...run, '--json']] : [run];
    });
    for (const option of ['--help', '--version']) runs.push([unused.directUrl, option]);
    const full = openSync('/dev/full', 'w');
    const child = runProgram(PROGRAM, { RUNS: JSON.stringify(runs) }, full);
    await child.ended;
    closeSync(full);
    const results = child
      .output()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const [at, [, ...args]] of runs.entries()) {
      const sentence =
        /^Standard output cannot be written \(ENOSPC: .*\)\. Free space on its disk, or restart its reader\./;
      expect({ args, ...results[at] }).toEqual({ args, status: 1, errors: expect.stringMatching(sentence) });
      if (/create|rotate/.test(args[1]!))
        expect(results[at].errors).toMatch(/ run "keys rotate [-0-9a-f]{36}"/);
    }
    process.stdout.write(`commands on a full disk: ${runs.length}\n`);
    folder.remove();
    await Promise.all([empty.drop(), unused.drop()]);
    await app.close();
  });
});
