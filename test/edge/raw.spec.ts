import * as fc from 'fast-check';
import { startApp, type TestApp } from '../support/app';
import { scrape } from '../support/metrics';
import { holdTimers } from '../support/timers';
import { until } from '../support/until';
import { framing, headers, pipelines, requestLines, slow, targets } from './raw/framing.rows';
import { contentTypes, texts } from './raw/text.rows';
import { RawConnection, type RawResponse, runOut } from './support/raw';
import {
  expectCommonHeaders,
  expectErrorBody,
  get,
  HOST,
  KEY,
  ORIGIN,
  post,
  PET,
  type Row,
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

/** For most of this file; test/support/app closes it. */
let store: TestApp;
let key: string;
/** The number of responses with status 201. */
let created = 0;
beforeAll(async () => {
  store = await startApp({ rateLimitAnonymousPerMinute: 1e6, corsOrigins: [ORIGIN] });
  key = await store.unlimitedKey();
});

/** Sends the bytes and closes the sending side, so that an incomplete request fails without a timeout. */
async function expectNoFailure(bytes: Buffer): Promise<void> {
  const raw = await RawConnection.open(store.url);
  raw.socket.end(bytes);
  for (let response = await raw.response(); response; response = await raw.response()) {
    if (response.status === 100) continue;
    if (response.status === 201) created += 1;
    expect(response.status).toBeLessThan(500);
    expectCommonHeaders(response);
    if (response.status >= 400 && response.text !== '') expectErrorBody(response, ANY_CODE);
  }
  expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
  raw.destroy();
}

/** @param beforeLate is called after the responses to the requests that arrive whole */
async function run([, bytes, responses, connection]: Row, beforeLate?: () => void): Promise<void> {
  const text = Buffer.from(bytes).toString('latin1').replaceAll(KEY, key);
  const raw = await RawConnection.open(store.url);
  raw.write(Buffer.from(text, 'latin1'));
  for (const expected of [responses].flat()) {
    if (expected.startsWith('408')) beforeLate?.();
    expectResponse(await raw.response(), expected);
  }
  if (!String(responses).includes('408')) beforeLate?.();
  let last = 200;
  if (connection === 'open') {
    raw.write(`GET /livez HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`);
    last = (await raw.response())?.status ?? 0;
  }
  expect(last).toBe(200);
  const end = await raw.end();
  raw.destroy();
  expect(end).toEqual({ state: 'closed', rest: '' });
}

function expectResponse(response: RawResponse | undefined, expected: string): void {
  const [status = '', code] = expected.split(' ');
  expect({ status: response?.status, text: response?.text }).toEqual({
    status: Number(status),
    text: expect.any(String),
  });
  if (response!.status < 200) return;
  if (response!.status === 201) created += 1;
  expectCommonHeaders(response!);
  if (code !== undefined && response!.text !== '') expectErrorBody(response!, code);
}

describe('raw bytes over TCP: only acknowledged animals are stored, no request fails, and the service still responds', () => {
  afterAll(async () => {
    const [{ count } = { count: '' }] = await store.database.query<{ count: string }>(
      'SELECT count(*) FROM pets',
    );
    expect(count).toBe(String(created));
    // Node.js and Fastify find errors in different places; each line has the code.
    expect(store.log.filter((line) => /"status":4(?!.*"code":")/.test(line))).toEqual([]);
    expect(store.log.filter((line) => /"level":"?(?:50|60|error|fatal)|"status":5/.test(line))).toEqual([]);
    // A terminal would obey them.
    expect(store.log.join('').replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    await run(['a read', get(), '200', 'open']);
    await run(['a write', post(PET), '201', 'open']);
  });

  describe.each(TOPICS)('%s', (_topic, rows) => {
    it.each(rows.map((row) => [row[0], String(row[2]), row[3], row] as const))(
      '%s: %s, connection %s',
      async (_case, _responses, _connection, row) => {
        await expect(run(row)).resolves.toBeUndefined();
      },
    );
  });
});

describe('requests with changed bytes', () => {
  it(`get no 5xx, and the promised headers, in ${RUNS} runs`, async () => {
    const seeds = seedsWith(await store.unlimitedKey());
    const mutated = fc.constantFrom(...seeds).chain((seed) => mutationOf(Buffer.from(seed)));
    await fc.assert(
      fc.asyncProperty(mutated, (bytes) => expectNoFailure(bytes)),
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
      if (waiting === 0) restore = runOut(store);
    };
    const outcomes = await Promise.all(
      slow.map(async (row) => [row[0], await run(row, beforeLate).then(() => 'passed', String)]),
    );
    restore();
    expect(outcomes).toEqual(slow.map(([title]) => [title, 'passed']));
    await run(['a read', get(), '200', 'open']);
  });
});

const ONE_REFUSED = 'animal_store_http_connections_shed_total{outcome="refused"} 1\n';
const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

/** Opens a connection and gets a response on it. */
async function connected(app: TestApp): Promise<RawConnection> {
  const raw = await RawConnection.open(app.url);
  raw.write(LIVEZ);
  expect(await raw.response()).toMatchObject({ status: 200 });
  return raw;
}

describe('limits of times and connections', () => {
  describe('MAX_CONNECTIONS', () => {
    let app: TestApp;
    /** Complete the responses of `/held`. */
    let held: (() => void)[];
    beforeEach(async () => {
      held = [];
      const hold = () => new Promise((resolve) => held.push(() => resolve('{}')));
      app = await startApp(
        { maxConnections: 3, metricsPort: 0 },
        {
          beside: store,
          beforeListen: (nest) =>
            nest
              .getHttpAdapter()
              .getInstance()
              .get('/held', { config: { public: true } }, hold),
        },
      );
    });
    afterEach(() => app.close());

    const isEnded = (raw: RawConnection) =>
      raw.end().then(({ state, rest }) => state !== 'open' && rest === '');

    it('closes and counts a further connection, closes the idle ones, serves the next one, and logs one line', async () => {
      const idle = [await connected(app), await connected(app), await connected(app)];
      const further = await RawConnection.open(app.url);
      for (const raw of [further, ...idle]) expect(await isEnded(raw)).toBe(true);
      const next = await connected(app);
      expect(app.log.filter((line) => line.includes('MAX_CONNECTIONS is reached'))).toHaveLength(1);
      expect((await scrape(app)).text).toContain(ONE_REFUSED);
      for (const raw of [...idle, further, next]) raw.destroy();
    });

    it('closes connections after their last response during an upload, and serves the next one', async () => {
      holdTimers({ timeouts: true });
      const half = await Promise.all([1, 2, 3].map(() => RawConnection.open(app.url)));
      for (const raw of half) {
        raw.write('POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{');
        expect(await raw.response()).toMatchObject({ status: 401 });
      }
      const further = await RawConnection.open(app.url);
      expect(await isEnded(further)).toBe(true);
      jest.useRealTimers();
      const next = await connected(app);
      for (const raw of [...half, further, next]) raw.destroy();
    });

    it('closes a new connection if every other connection has a pending request; the metrics count it', async () => {
      const busy = await Promise.all([1, 2, 3].map(() => RawConnection.open(app.url)));
      for (const raw of busy) raw.write(LIVEZ.replace('/livez', '/held'));
      await until(() => held.length === busy.length);
      const further = await RawConnection.open(app.url);
      expect(await isEnded(further)).toBe(true);
      expect((await scrape(app)).text).toContain(ONE_REFUSED);
      for (const finish of held) finish();
      for (const raw of busy) {
        expect(await raw.response()).toMatchObject({ status: 200 });
        raw.destroy();
      }
      further.destroy();
    });
  });

  it('HEADERS_TIMEOUT_MS: 408 for half a head, even with a long REQUEST_TIMEOUT_MS; KEEP_ALIVE_TIMEOUT_MS: an idle connection is closed without a response', async () => {
    const times = { headersTimeoutMs: 400, keepAliveTimeoutMs: 50, requestTimeoutMs: 600_000 };
    const app = await startApp(times, { beside: store });
    const half = await RawConnection.open(app.url);
    half.write('GET /livez HTTP/1.1\r\n');
    const idle = await connected(app);
    expect(await idle.end()).toEqual({ state: 'closed', rest: '' });
    expect(await half.response()).toMatchObject({ status: 408 });
    for (const raw of [half, idle]) raw.destroy();
    await app.close();
  });
});
