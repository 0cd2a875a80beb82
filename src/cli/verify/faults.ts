import { stringify } from 'lossless-json';
import { isInt64 } from '../../http/int64';
import type { Answer } from './answer';
import { isObject } from './json-value';

/** What is wrong with an answer, one sentence each; none where the promise is kept. */
export type Faults = readonly string[];

export const KEPT: Faults = [];

const LONGEST_SHOWN = 120;
const JSON_TYPE = /^application\/json(?:\s*;|$)/i;
const ERROR_MEMBERS = 'code,message,status';

/** No fault where the condition holds; else what was expected, and what came instead. */
export function expectThat(holds: boolean, where: string, expected: string, got: unknown): Faults {
  return holds ? KEPT : [`${where}: expected ${expected}, got ${shown(got)}`];
}

export function statusFaults({ request, status, text }: Answer, wanted: number): Faults {
  return status === wanted ? KEPT : [`${request}: expected ${wanted}, got ${status} ${oneLine(text)}`];
}

export function jsonTypeFaults({ request, headers }: Answer): Faults {
  const type = headers.get('content-type');
  return expectThat(JSON_TYPE.test(type ?? ''), request, 'Content-Type application/json', type);
}

/** The Error body of the specification: exactly `code`, `message` and `status`, the latter that of the answer. */
export function errorBodyFaults(answer: Answer): Faults {
  const { request, body, status, text } = answer;
  if (!isObject(body) || Object.keys(body).sort().join() !== ERROR_MEMBERS) {
    return expectThat(
      false,
      request,
      'an Error body of exactly code, message and status',
      body === undefined ? text : body,
    );
  }
  return [
    ...expectThat(isFilled(body['code']), request, 'code to be a text', body['code']),
    ...expectThat(isFilled(body['message']), request, 'message to be a text', body['message']),
    ...expectThat(body['status'] === BigInt(status), request, `status ${status} in the body`, body['status']),
  ];
}

/** An Error of this status and code. */
export function errorFaults(answer: Answer, status: number, code: string): Faults {
  const wrongStatus = statusFaults(answer, status);
  if (wrongStatus.length > 0) return wrongStatus;
  const got = isObject(answer.body) ? answer.body['code'] : undefined;
  return expectThat(got === code, answer.request, `code ${code}`, got);
}

/** A bare array of what `item` accepts. */
export function arrayFaults(answer: Answer, item: (value: unknown, where: string) => Faults): Faults {
  const wrongStatus = statusFaults(answer, 200);
  if (wrongStatus.length > 0) return wrongStatus;
  if (!Array.isArray(answer.body)) {
    return expectThat(false, answer.request, 'a JSON array', answer.body ?? answer.text);
  }
  return answer.body.flatMap((each, at) => item(each, `${answer.request}, element ${at}`));
}

export function int64Faults(value: unknown, where: string): Faults {
  return expectThat(isInt64(value), where, 'an int64 as a JSON integer', value);
}

export function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function shown(value: unknown): string {
  return value === undefined || value === null ? 'none' : oneLine(stringify(value) ?? '');
}

/** A short line without control characters: the text comes from elsewhere and goes to a terminal. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/\p{Cc}+/gu, ' ');
  return line.length > LONGEST_SHOWN ? `${line.slice(0, LONGEST_SHOWN)}…` : line;
}
