import * as fc from 'fast-check';
import { startApp, type TestApp } from '../support/app';
import { RawConnection } from './support/raw';
import { expectCommonHeaders, expectErrorBody } from './support/raw-rows';

const RUNS = 100;
const PETS = '/v1/pets';
const ANY_CODE = expect.any(String) as unknown as string;
const WORDS = ['\r\n', '\n', '\r', ' ', ':', '\0', '\t', '%', '0', 'Transfer-Encoding: chunked\r\n'];

/** Requests of each method, the bytes of which are changed. */
function seedsWith(key: string): string[] {
  const head = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  return [
    `GET ${PETS}?limit=1 HTTP/1.1\r\n${head}\r\n`,
    `POST ${PETS} HTTP/1.1\r\n${head}Content-Length: 29\r\n\r\n{"name":"Rex","categoryId":3}`,
    `POST ${PETS} HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET / HTTP/1.1\r\n${head}\r\n`,
    `GET ${PETS}?id=1&id=2&categoryId=3&sort=-id HTTP/1.1\r\n${head}If-None-Match: "a", W/"b"\r\n\r\n`,
    `PATCH ${PETS}/1 HTTP/1.1\r\n${head}If-Match: "a", *\r\nContent-Length: 12\r\n\r\n{"name":"a"}`,
    `DELETE ${PETS}/1 HTTP/1.1\r\n${head}If-Match: "a"\r\n\r\n`,
  ];
}

/** The bytes of a request with some changes, insertions and deletions. */
function mutationOf(bytes: Buffer): fc.Arbitrary<Buffer> {
  const junk = fc.oneof(
    fc.uint8Array({ maxLength: 5 }).map((values) => Buffer.from(values)),
    fc.constantFrom(...WORDS).map((text) => Buffer.from(text)),
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

/** Sends the bytes and closes the sending side, so that an incomplete request fails without a timeout. */
async function expectNoFailure({ url }: TestApp, bytes: Buffer): Promise<void> {
  const raw = await RawConnection.open(url);
  raw.socket.end(bytes);
  for (let response = await raw.response(); response; response = await raw.response()) {
    if (response.status === 100) continue;
    expect(response.status).toBeLessThan(500);
    expectCommonHeaders(response);
    if (response.status >= 400 && response.text !== '') expectErrorBody(response, ANY_CODE);
  }
  expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
  raw.destroy();
}

describe('requests with changed bytes', () => {
  it(`get no 5xx, and the promised headers, in ${RUNS} runs`, async () => {
    const app = await startApp();
    const key = await app.unlimitedKey();
    const mutated = fc.constantFrom(...seedsWith(key)).chain((seed) => mutationOf(Buffer.from(seed)));
    const property = fc.asyncProperty(mutated, (bytes) => expectNoFailure(app, bytes));
    await fc.assert(property, { numRuns: RUNS });
    expect((await app.get(PETS, { key })).status).toBe(200);
    await app.close();
  });
});
