import { type Command, Option } from 'commander';
import { stringify } from 'lossless-json';
import { UserError } from '../platform/errors/user-error';
import { type Verdict, verifyDeployment } from '../testing/verify-deployment';
import { baseUrl } from './base-url';
import { printLine } from './output';

const FROM_INPUT = '-';
/** Far longer than a key, so that a wrong file on standard input is not read to its end. */
const MAX_INPUT_CHARACTERS = 10_000;

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
    .requiredOption(
      '--base-url <url>',
      'base address of the API, such as https://api.example.com/v1',
      baseUrl,
    )
    .addOption(
      new Option(
        '--key <key>',
        'API key with the scopes of a new key, and pets:manage to remove the added animals; a Free plan is enough. With - the key is read from standard input: other users can see arguments',
      ).env('ANIMAL_STORE_KEY'),
    )
    .option('--exhaust', 'also use up the rate limit of the key, to check the 429')
    .option('--json', 'print one JSON document')
    .action(run);
}

async function run(
  { baseUrl: url, key: given, exhaust, json }: VerifyOptions,
  command: Command,
): Promise<void> {
  const key = await readKey(given, command);
  const request = { baseUrl: url, key, exhaust: exhaust === true };
  const verification = await verifyDeployment(request, json ? () => undefined : printVerdict);
  const { verdicts, skipped, requests, created, left, stopped } = verification;
  const broken = verdicts.filter(({ faults }) => faults.length > 0).length;
  if (json) {
    printLine(stringify(verification) ?? '');
  } else {
    const kept = verdicts.length - broken;
    printLine(
      `\n${verdicts.length} promises: ${kept} kept, ${broken} broken. ${requests} requests to ${url}.`,
    );
    if (skipped.length > 0) {
      printLine(`Without a successful response, so only their errors were checked: ${skipped.join('; ')}.`);
    }
    const isClean = left.length === 0;
    printLine(
      isClean
        ? `Removed or cancelled all ${created.length} resources again.`
        : `Left there: ${left.join(', ')}.`,
    );
  }
  if (stopped !== undefined) throw new UserError(stopped);
  if (broken > 0) throw new UserError(`${url} breaks ${broken} of its promises.`);
}

function printVerdict({ promise, faults }: Verdict): void {
  printLine(faults.length === 0 ? `ok   ${promise}` : [`FAIL ${promise}:`, ...faults].join('\n     '));
}

/** Reads the key. @param given value of `--key` or ANIMAL_STORE_KEY */
async function readKey(given: string | undefined, command: Command): Promise<string> {
  let key = given ?? '';
  if (key === FROM_INPUT) {
    key = '';
    for await (const chunk of process.stdin) {
      key += String(chunk);
      if (key.length > MAX_INPUT_CHARACTERS) break;
    }
    key = key.trim();
  }
  if (key === '') {
    command.error(
      'error: verify needs an API key: set ANIMAL_STORE_KEY, or give --key - and the key on standard input.',
    );
  }
  // Commander would print a value that its own parser rejects.
  if (!/^[\x21-\x7e]+$/.test(key) || key.startsWith('-')) {
    command.error('error: this is not an API key. Give the key exactly as it was shown when it was created.');
  }
  return key;
}
