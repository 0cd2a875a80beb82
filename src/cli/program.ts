import { CommanderError } from 'commander';
import { loadEnvFile } from '../config/config';
import type { StoreOptions } from '../app/build';
import { startAnimalStore } from '../app/start';
import { createStore, version } from '../app/store';
import { userMessage } from '../app/user-message';
import { addAccountsCommands, addAuditCommands } from './accounts.commands';
import { CommandContext } from './context';
import { addDbCommands } from './db.commands';
import { addKeysCommands } from './keys.commands';
import { addNewCommand } from './new.command';
import { OutputCommand, printable, watchOutput } from './output';
import { addPetsCommands, addSeedCommand } from './pets.commands';
import { addUsageCommand } from './usage.command';

const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * Runs one command of the command line.
 *
 * @param args without the names of Node and of the program
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage
 */
export async function runAnimalStoreCommand(
  args: readonly string[],
  { extensions }: StoreOptions = {},
): Promise<number> {
  watchOutput();
  try {
    const store = createStore(extensions);
    loadEnvFile();
    await createProgram(new CommandContext(store), extensions).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed the error already. It also throws, with exit code 0, after --help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    process.stderr.write(`${printable(userMessage(error))}\n`);
    return FAILED;
  }
}

export function createProgram(
  context: CommandContext,
  extensions: StoreOptions['extensions'] = [],
): OutputCommand {
  const program = new OutputCommand('animal-store')
    .description('Manages an Animal Store, also while its service runs.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(add --help for usage)');
  program
    .command('start')
    .description('run the service until a signal stops it')
    .action(() => startAnimalStore({ extensions }));
  addKeysCommands(program.command('keys').description('manage API keys'), context);
  addAccountsCommands(program.command('accounts').description('manage accounts and their plans'), context);
  addDbCommands(program.command('db').description('migrate, back up and restore the database'), context);
  addAuditCommands(program.command('audit').description('show administrative changes'), context);
  addUsageCommand(program.command('usage'), context);
  addPetsCommands(program.command('pets').description('export and import animals'), context);
  addSeedCommand(program.command('seed'), context);
  addNewCommand(program.command('new').description('copy examples/grooming into a package of your own'));
  return program;
}
