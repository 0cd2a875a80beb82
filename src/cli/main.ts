#!/usr/bin/env node
import '../config/node-version';
import 'reflect-metadata';
import { Command, CommanderError } from 'commander';
import { loadEnvFile } from '../config/config';
import { explain } from '../explain';
import { addAccountsCommands } from './accounts.commands';
import { addDbCommands } from './db.commands';
import { addKeysCommands } from './keys.commands';

/** Exit statuses: done 0, failed 1, wrong usage 2. */
const FAILED = 1;
const WRONG_USAGE = 2;

async function main(): Promise<void> {
  loadEnvFile();
  const program = new Command('animal-store')
    .description('Accounts, API keys and the database of an Animal Store. Works beside a running service.')
    .exitOverride()
    .showHelpAfterError('(add --help for what is possible)');
  addKeysCommands(program.command('keys').description('API keys'));
  addAccountsCommands(program.command('accounts').description('accounts, which own keys and have a plan'));
  addDbCommands(program.command('db').description("the database's schema"));
  await program.parseAsync();
}

function statusOf(error: unknown): number {
  if (!(error instanceof CommanderError)) {
    process.stderr.write(`${explain(error)}\n`);
    return FAILED;
  }
  // Commander has said what is wrong; help that was asked for is no error.
  return error.exitCode === 0 ? 0 : WRONG_USAGE;
}

main().catch((error: unknown) => {
  process.exitCode = statusOf(error);
});
