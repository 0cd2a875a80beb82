import * as fc from 'fast-check';
import type { TestApp } from '../support/app';
import { framing, headers, pipelines, requestLines, slow, targets } from './raw/framing.rows';
import { contentTypes, texts } from './raw/text.rows';
import { RawConnection, runOut } from './support/raw';
import {
  expectCommonHeaders,
  expectErrorBody,
  get,
  post,
  PET,
  type Row,
  RowRunner,
} from './support/raw-rows';

const TOPICS: readonly (readonly [topic: string, rows: readonly Row[]])[] = [
  ['the request line', requestLines],
  ['the target', targets],
  ['headers', headers],
  ['the framing of bodies', framing],
  ['pipelined requests', pipelines],
  ['the text of a body', texts],
  ['the type of a body', contentTypes],
];

const RUNS = 60;
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

/** For the whole file; test/support/app closes its service. */
let runner: RowRunner;
beforeAll(async () => {
  runner = await RowRunner.start();
});

describe('raw bytes over TCP: only acknowledged animals are stored, no request fails, and the service still responds', () => {
  afterAll(async () => {
    const [{ count } = { count: '' }] = await runner.app.database.query<{ count: string }>(
      'SELECT count(*) FROM pets',
    );
    expect(count).toBe(String(runner.created));
    // Node.js and Fastify find errors in different places; each line has the code.
    expect(runner.app.log.filter((line) => /"status":4(?!.*"code":")/.test(line))).toEqual([]);
    expect(runner.app.log.filter((line) => /"level":"?(?:50|60|error|fatal)|"status":5/.test(line))).toEqual(
      [],
    );
    // A terminal would obey them.
    expect(runner.app.log.join('').replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    await runner.run(['a read', get(), '200', 'open']);
    await runner.run(['a write', post(PET), '201', 'open']);
  });

  describe.each(TOPICS)('%s', (_topic, rows) => {
    it.each(rows.map((row) => [row[0], String(row[2]), row[3], row] as const))(
      '%s: %s, connection %s',
      async (_case, _responses, _connection, row) => {
        await expect(runner.run(row)).resolves.toBeUndefined();
      },
    );
  });
});

describe('requests with changed bytes', () => {
  it(`get no 5xx, and the promised headers, in ${RUNS} runs`, async () => {
    const { app } = runner;
    const seeds = seedsWith(await app.unlimitedKey());
    const mutated = fc.constantFrom(...seeds).chain((seed) => mutationOf(Buffer.from(seed)));
    await fc.assert(
      fc.asyncProperty(mutated, (bytes) => expectNoFailure(app, bytes)),
      { numRuns: RUNS },
    );
  });
});

describe('bytes that never arrive whole', () => {
  it('408 request_timeout for each, after the responses to earlier requests', async () => {
    let waiting = slow.length;
    let restore = () => {};
    const beforeLate = () => {
      waiting -= 1;
      if (waiting === 0) restore = runOut(runner.app);
    };
    const outcomes = await Promise.all(
      slow.map(async (row) => [row[0], await runner.run(row, beforeLate).then(() => 'passed', String)]),
    );
    restore();
    expect(outcomes).toEqual(slow.map(([title]) => [title, 'passed']));
    await runner.run(['a read', get(), '200', 'open']);
  });
});
