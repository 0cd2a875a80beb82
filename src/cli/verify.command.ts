import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { type Verdict, verifyDeployment } from '../testing/verify-deployment';
import { baseUrl } from './arguments';
import { type OutputCommand, printLine } from './output';

const FROM_INPUT = '-';

interface VerifyOptions {
  readonly baseUrl: string;
  readonly key?: string;
  readonly leave?: true;
  readonly exhaust?: true;
  readonly json?: true;
}

export function addVerifyCommand(program: OutputCommand): void {
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
    .option('--leave', 'allow that animals and orders stay there, if the key cannot remove them')
    .option('--exhaust', 'also use up the rate limit of the key, to check the 429')
    .prints(async (options: VerifyOptions, command: Command) => {
      const key = await readKey(options.key, command);
      const report = options.json ? () => undefined : printVerdict;
      const verification = await verifyDeployment(options.baseUrl, key, options, report);
      const { verdicts, stopped } = verification;
      const broken = verdicts.filter(({ faults }) => faults.length > 0).length;
      const breaks = broken > 0 ? `${options.baseUrl} breaks ${broken} of its promises.` : undefined;
      return { json: verification, text: summaryOf(verification, broken), failure: stopped ?? breaks };
    });
}

function summaryOf(verification: Awaited<ReturnType<typeof verifyDeployment>>, broken: number): string {
  const { baseUrl: url, verdicts, skipped, ...run } = verification;
  const counts = `${verdicts.length - broken} kept, ${broken} broken`;
  const unchecked = `Without a successful response, so only their errors were checked: ${skipped.join('; ')}.`;
  return [
    `\n${verdicts.length} promises: ${counts}. ${run.requests} requests to ${url}.`,
    ...(skipped.length > 0 ? [unchecked] : []),
    run.left.length > 0
      ? `Left there: ${run.left.join(', ')}.`
      : `Removed or cancelled all ${run.created.length} resources again.`,
  ].join('\n');
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
