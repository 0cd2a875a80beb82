import { stringify } from 'lossless-json';
import { isObject } from './json-value';
import type { ReceivedResponse } from './received-response';

/** Faults of a response, one sentence each; empty if the promise is kept. */
export type Faults = readonly string[];

export const KEPT: Faults = [];

const MAX_SHOWN = 120;

/** Returns a fault with the expected and the actual value unless the condition holds. */
export function expectThat(holds: boolean, where: string, expected: string, got: unknown): Faults {
  return holds ? KEPT : [`${where}: expected ${expected}, got ${shown(got)}`];
}

/** Returns the mismatches of some parts with the OpenAPI document: `body`, or a header by its name in lower case. */
export function documentedFaults(response: ReceivedResponse, ...parts: readonly string[]): Faults {
  return documentedFaultsIf(response, (part) => parts.includes(part));
}

export function documentedFaultsIf(
  { request, status, mismatches }: ReceivedResponse,
  isMeant: (part: string) => boolean,
): Faults {
  return mismatches
    .filter(({ part }) => isMeant(part))
    .flatMap(({ where, rule, got }) =>
      expectThat(
        false,
        `${request} (${status}), ${where}`,
        rule.replace(/^must (NOT )?/, (_, not) => (not ? 'not to ' : 'to ')),
        got,
      ),
    );
}

export function statusFaults({ request, status, text }: ReceivedResponse, wanted: number): Faults {
  return status === wanted ? KEPT : [`${request}: expected ${wanted}, got ${status} ${oneLine(text)}`];
}

/** Checks that a request succeeded with this status, and compares the body with the OpenAPI document. */
export function successFaults(response: ReceivedResponse, status: number): Faults {
  return response.status === status ? documentedFaults(response, 'body') : statusFaults(response, status);
}

/** Checks that a request failed with this status and code. */
export function errorFaults(response: ReceivedResponse, status: number, code: string): Faults {
  const wrongStatus = statusFaults(response, status);
  if (wrongStatus.length > 0) return wrongStatus;
  const got = isObject(response.body) ? response.body['code'] : undefined;
  return expectThat(got === code, response.request, `code ${code}`, got);
}

function shown(value: unknown): string {
  return value === undefined || value === null ? 'none' : oneLine(stringify(value) ?? '');
}

/** Shortens a text to one line without control characters: it comes from the deployment and goes to a terminal. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/\p{Cc}+/gu, ' ');
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}
