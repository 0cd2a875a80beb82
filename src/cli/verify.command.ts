import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { UserError } from '../platform/errors/user-error';
import { type Verdict, type Verification, verifyDeployment } from '../testing/verify-deployment';
import { BASE_URL_OPTION } from './arguments';
import { JSON_OPTION, printJson, printLine } from './output';

const FROM_INPUT = '-';

interface VerifyOptions {
  readonly baseUrl: string;
  readonly key?: string;
  readonly exhaust?: true;
  readonly json?: true;
}

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description(
      'check over HTTP that a deployment keeps the promises of the API, those of its extensions included',
    )
    .addOption(BASE_URL_OPTION)
    .addOption(
      new Option(
        '--key <key>',
        'API key with the scopes of a new key, and pets:manage to remove the added animals; a Free plan is enough. With - the key is read from standard input: other users can see arguments',
      ).env('ANIMAL_STORE_KEY'),
    )
    .option('--exhaust', 'also use up the rate limit of the key, to check the 429')
    .option(...JSON_OPTION)
    .action(run);
}

async function run(options: VerifyOptions, command: Command): Promise<void> {
  const { baseUrl, exhaust = false, json } = options;
  const key = await readKey(options.key, command);
  const report = json ? () => undefined : printVerdict;
  const verification = await verifyDeployment(baseUrl, key, exhaust, report);
  const { verdicts, stopped } = verification;
  const broken = verdicts.filter(({ faults }) => faults.length > 0).length;
  if (json) printJson(verification);
  else printSummary(verification, broken);
  if (stopped !== undefined) throw new UserError(stopped);
  if (broken > 0) throw new UserError(`${baseUrl} breaks ${broken} of its promises.`);
}

function printSummary({ baseUrl, verdicts, skipped, requests, created, left }: Verification, broken: number) {
  const counts = `${verdicts.length - broken} kept, ${broken} broken`;
  printLine(`\n${verdicts.length} promises: ${counts}. ${requests} requests to ${baseUrl}.`);
  if (skipped.length > 0) {
    printLine(`Without a successful response, so only their errors were checked: ${skipped.join('; ')}.`);
  }
  if (left.length > 0) printLine(`Left there: ${left.join(', ')}.`);
  else printLine(`Removed or cancelled all ${created.length} resources again.`);
}

function printVerdict({ promise, faults }: Verdict): void {
  printLine(faults.length === 0 ? `ok   ${promise}` : [`FAIL ${promise}:`, ...faults].join('\n     '));
}

/** Reads the key. @param given value of `--key` or ANIMAL_STORE_KEY */
async function readKey(given: string | undefined, command: Command): Promise<string> {
  const key = given === FROM_INPUT ? (await text(process.stdin)).trim() : (given ?? '');
  // Commander would print a value that its own parser rejects.
  if (/^[!-,.-~][!-~]*$/.test(key)) return key;
  return command.error(
    'error: verify needs an API key: set ANIMAL_STORE_KEY, or give --key - and the key on standard input.',
  );
}
