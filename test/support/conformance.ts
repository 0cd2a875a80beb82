import { type CheckedResponse, Conformance } from '../../src/platform/openapi/conformance';
import { readCommittedDocument } from '../../src/platform/openapi/documented-responses';

/** The router decodes `%76`. */
const BASE_PATH = /^\/(?:v|%76)(?:1|%31)(?=\/)/;

const conformance = new Conformance(readCommittedDocument(), { isStrict: true });

/**
 * Compares a response of a documented operation with openapi.json: status, headers and body. Ignores responses of other
 * addresses.
 *
 * @throws Error that names each difference
 */
export function rejectUndocumented(
  method: string,
  target: string,
  response: CheckedResponse,
  accept?: string,
): void {
  if (!BASE_PATH.test(target)) return;
  const path = target.replace(BASE_PATH, '');
  if (!conformance.hasOperation(method, path)) return;
  const mismatches = conformance.mismatches(method, path, response, accept);
  if (mismatches.length === 0) return;
  const lines = mismatches.map(({ where, rule, got }) => `\n  ${where}: ${rule}, got ${JSON.stringify(got)}`);
  throw new Error(`openapi.json does not have this response to ${method} ${target}:${lines.join('')}`);
}

/** Compares the first response on a socket with openapi.json, as `rejectUndocumented` does. */
export function rejectUndocumentedRaw(sent: string, received: string): void {
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.1\r\n/.exec(sent) ?? [];
  const [, status, head, rest = ''] =
    /^HTTP\/1\.1 ([2-5]\d\d) [^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(received) ?? [];
  if (method === undefined || target === undefined || head === undefined) return;
  const headers = Object.fromEntries(
    head
      .split('\r\n')
      .map((line) => [line.split(':', 1).join().toLowerCase(), line.replace(/^[^:]*: ?/, '')]),
  );
  const [, accept] = /\r\naccept: ([^\r]*)/i.exec(sent.split('\r\n\r\n', 1)[0]!) ?? [];
  const body = Buffer.from(rest).subarray(0, Number(headers['content-length']));
  const response = { status: Number(status), headers, text: body.toString() };
  rejectUndocumented(method, target, response, accept);
}
