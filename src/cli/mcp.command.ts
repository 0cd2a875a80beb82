import type { Command } from 'commander';
import { serveStandardIo } from '../mcp';
import { readSecretFile } from '../platform/config/secret-file';
import { UserError } from '../platform/errors/user-error';
import { BASE_URL_OPTION } from './arguments';

const KEY_OPTION = '--key-file';

export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description(
      'serve the tools of a deployment to an agent over standard input and output (Model Context Protocol)',
    )
    .addOption(BASE_URL_OPTION)
    .requiredOption(`${KEY_OPTION} <file>`, 'file whose one line is the API key')
    .action(({ baseUrl: url, keyFile }: { readonly baseUrl: string; readonly keyFile: string }) =>
      serveStandardIo({ baseUrl: url, key: readKey(keyFile) }, process.stdin, process.stdout),
    );
}

function readKey(file: string): string {
  try {
    return readSecretFile(KEY_OPTION, file);
  } catch (error) {
    throw new UserError(`The API key ${error instanceof Error ? error.message : String(error)}.`);
  }
}
