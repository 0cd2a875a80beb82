import { type CheckedResponse, Conformance } from '../../src/testing/conformance';
import { ApiDocument, readCommittedDocument } from '../../src/testing/api-document';

const conformance = new Conformance(new ApiDocument(readCommittedDocument()), { isStrict: true });

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
  conformance.require(method, target, response, accept);
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
