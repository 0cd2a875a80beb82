import { Readable, Transform } from 'node:stream';
import { parse } from 'lossless-json';
import { integralValue } from '../../platform/validation/int64';

/**
 * Passes messages on, one in each line, with integers beyond 2^53 as texts. The SDK parses with `JSON.parse`, which
 * would round them: the call would name another animal. A tool accepts both forms of an int64.
 */
export function exactMessages(input: Readable): Readable {
  let rest = '';
  const lines = new Transform({
    transform(chunk: string, _encoding, done) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      done(null, parts.map((line) => `${exactLine(line)}\n`).join(''));
    },
    flush(done) {
      done(null, rest === '' ? null : `${exactLine(rest)}\n`);
    },
    decodeStrings: false,
    readableObjectMode: false,
  });
  return input.setEncoding('utf8').pipe(lines);
}

/** A line that cannot be parsed is passed on: the SDK says so to the client. */
function exactLine(line: string): string {
  try {
    return JSON.stringify(parse(line, undefined, exactNumber));
  } catch {
    return line;
  }
}

/** `9007199254740993.0` is an integer, too. */
function exactNumber(digits: string): number | string {
  const integer = integralValue(digits);
  return integer === undefined || Number.isSafeInteger(Number(integer)) ? Number(digits) : String(integer);
}
