import type { Readable } from 'node:stream';
import { type Command, Option } from 'commander';

const FROM_INPUT = '-';
/** Far longer than a key, so that a wrong file on standard input is not read to its end. */
const MAX_INPUT_CHARACTERS = 10_000;

/** Makes the option `--key`. `readKey` checks its text, because Commander prints a value that its parser rejects. */
export function keyOption(): Option {
  return new Option(
    '--key <key>',
    'API key with the scopes of a new key, and pets:manage to remove the added animals; a Free plan is enough. With - the key is read from standard input: other users can see arguments',
  ).env('ANIMAL_STORE_KEY');
}

/** Reads the key. @param given value of `--key` or ANIMAL_STORE_KEY */
export async function readKey(given: string | undefined, command: Command, input: Readable): Promise<string> {
  const key = given === FROM_INPUT ? (await readText(input)).trim() : (given ?? '');
  if (key === '') {
    command.error(
      'error: verify needs an API key: set ANIMAL_STORE_KEY, or give --key - and the key on standard input.',
    );
  }
  if (!/^[\x21-\x7e]+$/.test(key) || key.startsWith('-')) {
    command.error('error: this is not an API key. Give the key exactly as it was shown when it was created.');
  }
  return key;
}

async function readText(input: Readable): Promise<string> {
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.length > MAX_INPUT_CHARACTERS) break;
  }
  return text;
}
