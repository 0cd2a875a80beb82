import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { stringify } from 'lossless-json';
import { UserError } from '../../platform/errors/user-error';
import { SystemClock } from '../../platform/runtime/clock';
import { baseUrl } from '../base-url';
import { printLine } from '../output';
import type { Runtime } from './api-client';
import { oneLine } from './faults';
import { MANAGE_PETS } from './promise';
import { keyOption, readKey } from './read-key';
import { type Verdict, type Verification, verify } from './verify';

interface VerifyOptions {
  readonly baseUrl: string;
  readonly key?: string;
  readonly exhaust?: true;
  readonly json?: true;
}

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description('check over HTTP that a deployment keeps the promises of the API')
    .requiredOption(
      '--base-url <url>',
      'base address of the API, such as https://api.example.com/v1',
      baseUrl,
    )
    .addOption(keyOption())
    .option('--exhaust', 'also use up the rate limit of the key, to check the 429')
    .option('--json', 'print one JSON document')
    .action(run);
}

async function run(options: VerifyOptions, command: Command): Promise<void> {
  const { baseUrl: url, exhaust, json } = options;
  const key = await readKey(options.key, command, process.stdin);
  const request = { baseUrl: url, key, exhaust: exhaust === true };
  const verification = await verify(request, runtime(), json ? () => undefined : printVerdict);
  if (json) printLine(stringify(verification) ?? '');
  else printSummary(verification);
  const broken = brokenOf(verification);
  if (verification.stopped !== undefined) throw new UserError(verification.stopped);
  if (broken > 0) throw new UserError(`${url} breaks ${broken} of its promises.`);
}

function printVerdict({ promise, faults }: Verdict): void {
  printLine(faults.length === 0 ? `ok   ${promise}` : `FAIL ${promise}: ${faults.join('; ')}`);
}

function printSummary(verification: Verification): void {
  const { verdicts, skipped, requests, baseUrl: url } = verification;
  const broken = brokenOf(verification);
  printLine('');
  printLine(
    `${verdicts.length} promises: ${verdicts.length - broken} kept, ${broken} broken. ${requests} requests to ${url}.`,
  );
  if (skipped.length > 0) {
    printLine(`Skipped, because the key lacks the scope ${MANAGE_PETS}: ${skipped.join('; ')}.`);
  }
  printLine(addedLine(verification));
}

function addedLine({ created, left }: Verification): string {
  if (created.length === 0) return 'No animals were added.';
  if (left.length === 0) return `Added ${created.length} animals, and removed them again.`;
  return `Added, and left there: ${left.map(({ id, name }) => `${id} "${oneLine(name)}"`).join(', ')}.`;
}

function brokenOf({ verdicts }: Verification): number {
  return verdicts.filter(({ faults }) => faults.length > 0).length;
}

function runtime(): Runtime {
  const clock = new SystemClock();
  return {
    sleep,
    now: () => clock.now(),
    notify: (line) => process.stderr.write(`${line}\n`),
  };
}
