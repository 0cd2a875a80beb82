import { Command, CommanderError } from 'commander';
import { loadEnvFile } from '../config/env-file';
import { explain } from '../explain';
import { addAccountsCommands } from './accounts.commands';
import { addDbCommands } from './db.commands';
import { addKeysCommands } from './keys.commands';
import { addSeedCommand } from './seed.command';
import { addVerifyCommand } from './verify/verify.command';

const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * Runs one command.
 *
 * @param args without the names of Node and the program
 * @returns the exit status: done 0, failed 1, wrong usage 2
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    loadEnvFile();
    await createProgram().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has said what is wrong; help that was asked for is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    process.stderr.write(`${explain(error)}\n`);
    return FAILED;
  }
}

function createProgram(): Command {
  const program = new Command('animal-store')
    .description(
      'Accounts, API keys, the database and made-up animals of an Animal Store. Works beside a running service.',
    )
    .exitOverride()
    .showHelpAfterError('(add --help for what is possible)');
  addKeysCommands(program.command('keys').description('API keys'));
  addAccountsCommands(program.command('accounts').description('accounts, which own keys and have a plan'));
  addDbCommands(program.command('db').description("the database's schema"));
  addVerifyCommand(program);
  addSeedCommand(program.command('seed'));
  return program;
}
