import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Breakage, BrokenRequest } from './support/breaking-proxy';
import { type Run, startVerified, type Verified } from './support/verified';

const MEBIBYTE = 1_048_576;
/** Where a client that does not stop would let the server go on. */
const MOST_MIB = 64;

const isOrders = ({ path }: BrokenRequest) => path === '/v1/store/orders';
const isFirst = ({ path }: BrokenRequest) => path === '/v1/pets?limit=1';

/** What breaks the bodies of some answers, and the headers that go with it. */
function unreadable(
  isMeant: (request: BrokenRequest) => boolean,
  write: (outgoing: ServerResponse) => unknown,
  headers: Record<string, string> = {},
): Breakage {
  // The answer without a key comes before, and is left whole.
  let isBroken = false;
  return {
    answer: (answer, request) => {
      isBroken = isMeant(request) && answer.status < 300;
      if (isBroken) Object.assign(answer.headers, headers);
    },
    body: (outgoing) => {
      if (isBroken) void write(outgoing);
      return isBroken;
    },
  };
}

const cutShort = (outgoing: ServerResponse) => outgoing.write('[{"id":', () => outgoing.destroy());

/** Sends blanks until the client goes, and tells how much it took; the packed ones count as they unpack. */
function endless(isPacked: boolean) {
  let mebibytes = 0;
  const blanks = Buffer.alloc(MEBIBYTE, ' ');
  const source = Readable.from(
    (function* () {
      for (; mebibytes < MOST_MIB; mebibytes += 1) yield blanks;
    })(),
  );
  const write = (outgoing: ServerResponse) =>
    (isPacked ? pipeline(source, createGzip(), outgoing) : pipeline(source, outgoing)).catch(() => undefined);
  return { write, sent: () => mebibytes };
}

describe('cli verify before a deployment whose bodies cannot be read', () => {
  let verified: Verified;
  beforeAll(async () => {
    verified = await startVerified();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => verified.close());

  const run = async (breakage: Breakage, ...more: string[]) =>
    verified.run(['--base-url', verified.proxy.url, '--key', await verified.createKey(), ...more], breakage);

  /** Status 1, what was added, and as the last line this sentence: no stack. */
  function expectStopped({ status, all, out }: Run, sentence: RegExp): void {
    expect(status).toBe(1);
    expect(out).toMatch(/\nAdded, and left there: (\d+ "[^"]+"(, )?){4}\.\n$/);
    expect(all.slice(out.length).trim()).toMatch(sentence);
    expect(all).not.toMatch(/^ +at /m);
  }

  it('a body that is cut short ends it in one sentence, after what was added', async () => {
    expectStopped(
      await run(unreadable(isOrders, cutShort)),
      /^GET \/store\/orders is answered 200, but the body cannot be read to its end \(.+\)\.$/,
    );
  });

  it('a body that is not packed as it says ends it in one sentence', async () => {
    const notGzip = unreadable(isOrders, (outgoing) => outgoing.end('[]'), { 'content-encoding': 'gzip' });
    expectStopped(
      await run(notGzip),
      /^GET \/store\/orders is answered 200, but .* \(incorrect header check\)\.$/,
    );
  });

  it('a body that takes too long ends it in one sentence', async () => {
    const timeout = new AbortController();
    jest.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal);
    const { fetch } = globalThis;
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (...request) => {
      const response = await fetch(...request);
      // The head is there in time.
      if (response.ok && response.url.endsWith('/v1/store/orders')) {
        timeout.abort(new DOMException('too late', 'TimeoutError'));
      }
      return response;
    });
    expectStopped(
      await run(unreadable(isOrders, (outgoing) => outgoing.write('['))),
      /^GET \/store\/orders is answered 200, but .* \(too late\)\.$/,
    );
  });

  it('a body without an end is given up, and its connection closed', async () => {
    const { write, sent } = endless(false);
    const closed: Promise<unknown>[] = [];
    const breakage = unreadable(isOrders, (outgoing) => closed.push(write(outgoing)));
    expectStopped(
      await run(breakage),
      /^GET \/store\/orders is answered 200 with a body of more than 4 MiB: .*\.$/,
    );
    await Promise.all(closed);
    expect(sent()).toBeLessThan(MOST_MIB);
  });

  it('a small body that unpacks to a large one is given up', async () => {
    const { write } = endless(true);
    const breakage = unreadable(isOrders, write, { 'content-encoding': 'gzip' });
    expectStopped(await run(breakage), /^GET \/store\/orders is answered 200 with a body of more than 4 MiB/);
  });

  it('--json prints its one document also of a run that was cut in the middle', async () => {
    const { status, out } = await run(unreadable(isOrders, cutShort), '--json');
    expect(status).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      verdicts: expect.arrayContaining([
        { promise: 'GET /pets without a key answers 401 missing_api_key', faults: [] },
      ]),
      created: Array.from({ length: 4 }, () => ({
        id: expect.any(Number),
        name: expect.stringContaining('Žofie'),
      })),
      stopped: expect.stringMatching(/^GET \/store\/orders is answered 200, but .*\.$/),
    });
  });

  it('an animal is named by its Location where the answer that added it is cut short', async () => {
    const { out } = await run(
      unreadable(({ method }) => method === 'POST', cutShort),
      '--json',
    );
    const [newest] = await verified.app.database.query<{ id: string }>('SELECT max(id) AS id FROM pets');
    expect(JSON.parse(out).created).toEqual([{ id: Number(newest?.id), name: '' }]);
  });

  it('a first answer that cannot be read is status 1 and one sentence', async () => {
    const { status, out, all } = await run(unreadable(isFirst, cutShort));
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(all.trim()).toMatch(/^GET \/pets\?limit=1 is answered 200, but the body cannot be read .*$/);
  });

  it('a port that fetch blocks is named as the reason', async () => {
    const { status, all } = await verified.run(['--base-url', 'http://127.0.0.1:4190/v1', '--key', 'k']);
    expect(status).toBe(1);
    expect(all.trim()).toMatch(/^http:\/\/127\.0\.0\.1:4190\/v1 was not asked: its port .* block; .*$/);
  });
});
