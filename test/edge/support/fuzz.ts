import * as fc from 'fast-check';
import { expectError } from '../../support/expect-error';
import { send } from '../../support/http';
import { expectProblem, PROBLEM } from '../../problems/support/problem';
import { RawConnection } from './raw';
import { expectCommonHeaders, expectErrorBody } from './raw-rows';

/** The service to fuzz, and a key without an effective rate limit. */
export interface FuzzTarget {
  readonly url: string;
  readonly key: string;
}

const PETS = '/v1/pets';
const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

const integer = fc.oneof(fc.bigInt(MIN, MAX), fc.bigInt(2n * MIN, 2n * MAX));
const notation = fc.constantFrom('', '.0', 'e0');
const name = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }),
  fc.string({ unit: 'grapheme', minLength: 240, maxLength: 270 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  // UTF-16 units, with some lone surrogates.
  fc.array(fc.integer({ max: 0xffff }), { maxLength: 9 }).map((units) => String.fromCharCode(...units)),
);

/** The rule of the contract, implemented independently of the service. */
const isName = (text: string): boolean =>
  text.trim() !== '' && Array.from(text).length <= 255 && !/\p{Cc}/u.test(text) && text.isWellFormed();

/**
 * Sends arbitrary animals. Exactly those that the contract allows are stored, as they were sent; every rejection has the
 * same status, code and message as an Error body and as problem details.
 *
 * @returns the number of stored animals
 */
export async function fuzzBodies({ url, key }: FuzzTarget, runs: number): Promise<number> {
  let stored = 0;
  const animal = fc.asyncProperty(name, integer, notation, async (text, number, suffix) => {
    const body = `{"name":${JSON.stringify(text)},"categoryId":${number}${suffix}}`;
    const { status, json, ...response } = await send(url, 'POST', PETS, { key, body });
    const isAllowed = isName(text) && number >= MIN && number <= MAX;
    expect([body, status]).toEqual([body, isAllowed ? 201 : 400]);
    if (!isAllowed) {
      expectError({ status, json, ...response }, 400, 'validation_failed');
      const problem = await send(url, 'POST', PETS, { key, body, headers: { accept: PROBLEM } });
      expectProblem(problem, 400, 'validation_failed');
      expect(problem.json.detail).toBe(json.message);
      return;
    }
    stored += 1;
    expect(json.name).toBe(text);
    expect(response.text).toContain(`"categoryId":${number},`);
    const read = await send(url, 'GET', String(response.headers['location']), { key });
    expect(read.text).toBe(response.text);
  });
  await fc.assert(animal, { numRuns: runs });
  return stored;
}

/** Sends requests with changed bytes. No response is a 5xx or late, and all have the promised headers. */
export async function fuzzRequests({ url, key }: FuzzTarget, runs: number): Promise<void> {
  const head = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  const seeds = [
    `GET ${PETS}?limit=1 HTTP/1.1\r\n${head}\r\n`,
    `POST ${PETS} HTTP/1.1\r\n${head}Content-Length: 29\r\n\r\n{"name":"Rex","categoryId":3}`,
    `POST ${PETS} HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET / HTTP/1.1\r\n${head}\r\n`,
    `GET ${PETS}?id=1&id=2&categoryId=3&sort=-id HTTP/1.1\r\n${head}If-None-Match: "a", W/"b"\r\n\r\n`,
    `PATCH ${PETS}/1 HTTP/1.1\r\n${head}If-Match: "a", *\r\nContent-Length: 12\r\n\r\n{"name":"a"}`,
    `DELETE ${PETS}/1 HTTP/1.1\r\n${head}If-Match: "a"\r\n\r\n`,
  ];
  const mutated = fc.constantFrom(...seeds).chain((seed) => mutationOf(Buffer.from(seed)));
  const request = fc.asyncProperty(mutated, async (bytes) => {
    const raw = await RawConnection.open(url);
    // Because the client closes its side, an incomplete request fails without a timeout.
    raw.socket.end(bytes);
    for (let response = await raw.response(); response; response = await raw.response()) {
      if (response.status === 100) continue;
      expect(response.status).toBeLessThan(500);
      expectCommonHeaders(response);
      if (response.status >= 400 && response.text !== '')
        expectErrorBody(response, expect.any(String) as never);
    }
    expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
    raw.destroy();
  });
  await fc.assert(request, { numRuns: runs });
}

/** The bytes of a request with some changes, insertions and deletions. */
function mutationOf(bytes: Buffer): fc.Arbitrary<Buffer> {
  const words = ['\r\n', '\n', '\r', ' ', ':', '\0', '\t', '%', '0', 'Transfer-Encoding: chunked\r\n'];
  const junk = fc.oneof(
    fc.uint8Array({ maxLength: 5 }).map((values) => Buffer.from(values)),
    fc.constantFrom(...words).map((text) => Buffer.from(text)),
  );
  const edits = fc.array(fc.tuple(fc.nat(bytes.length), fc.nat(4), junk), { minLength: 1, maxLength: 4 });
  return edits.map((all) =>
    all.reduce(
      (text, [start, left, put]) =>
        Buffer.concat([text.subarray(0, start), put, text.subarray(start + left)]),
      bytes,
    ),
  );
}
