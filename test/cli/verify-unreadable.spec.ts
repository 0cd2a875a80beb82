import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Breakage, BrokenRequest } from './support/breaking-proxy';
import { type Run, startVerified, type Verified } from './support/verified';

const MEBIBYTE = 1_048_576;
/** Bound of an endless body, in case the client does not disconnect. */
const MAX_MIB = 64;

const isOrders = ({ path }: BrokenRequest) => path === '/v1/store/orders';
const isFirst = ({ path }: BrokenRequest) => path === '/v1/pets?limit=0';

/** Breaks the bodies, and if need be the headers, of some responses. */
function unreadable(
  isMeant: (request: BrokenRequest) => boolean,
  write: (outgoing: ServerResponse) => unknown,
  headers: Record<string, string> = {},
): Breakage {
  // A request without a key comes first; its response stays readable.
  let isBroken = false;
  return {
    response: (response, request) => {
      isBroken = isMeant(request) && response.status !== 401;
      if (isBroken) Object.assign(response.headers, headers);
    },
    body: (outgoing) => {
      if (isBroken) void write(outgoing);
      return isBroken;
    },
  };
}

const cutShort = (outgoing: ServerResponse) => outgoing.write('[{"id":', () => outgoing.destroy());

/** Sends spaces until the client disconnects, and counts them in MiB before compression. */
function endless(isCompressed: boolean) {
  let mebibytes = 0;
  const blanks = Buffer.alloc(MEBIBYTE, ' ');
  const source = Readable.from(
    (function* () {
      for (; mebibytes < MAX_MIB; mebibytes += 1) yield blanks;
    })(),
  );
  const write = (outgoing: ServerResponse) =>
    (isCompressed ? pipeline(source, createGzip(), outgoing) : pipeline(source, outgoing)).catch(
      () => undefined,
    );
  return { write, sent: () => mebibytes };
}

describe('cli verify of a deployment with unreadable bodies', () => {
  let verified: Verified;
  beforeAll(async () => {
    verified = await startVerified();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => verified.close());

  /** Runs with a key that may not remove the added animals. */
  const run = async (breakage: Breakage, ...more: string[]) => {
    const key = await verified.createBuyerKey();
    return verified.run(['--base-url', verified.proxy.url, '--key', key, ...more], breakage);
  };

  /** Expects status 1, the list of added animals, and this sentence as the last line, without a stack trace. */
  function expectStopped({ status, all, out }: Run, sentence: RegExp): void {
    expect(status).toBe(1);
    expect(out).toMatch(/\nAdded, and left there: (\d+ "[^"]+"(, )?){4}\.\n$/);
    expect(all.slice(out.length).trim()).toMatch(sentence);
    expect(all).not.toMatch(/^ +at /m);
  }

  it('stops with one sentence at an incomplete body, and lists the added animals', async () => {
    expectStopped(
      await run(unreadable(isOrders, cutShort)),
      /^GET \/store\/orders is answered 200, but the body cannot be read to its end \(.+\)\.$/,
    );
  });

  it('cancels its order and removes the added animals after it stopped, if the key may', async () => {
    const statuses = () =>
      verified.app.database.query('SELECT status FROM store_orders ORDER BY id DESC LIMIT 1');
    let updates = 0;
    const isFirstUpdate = ({ method, path }: BrokenRequest) =>
      method === 'PATCH' && path.includes('/orders/') && (updates += 1) === 1;
    const { status, out } = await verified.run(
      ['--base-url', verified.proxy.url, '--key', await verified.createKey()],
      unreadable(isFirstUpdate, cutShort),
    );
    expect(status).toBe(1);
    expect(out).toMatch(/\nAdded 4 animals, and removed them again\.\n$/);
    expect(await statuses()).toEqual([{ status: 'cancelled' }]);
  });

  it('stops with one sentence at a body with a wrong Content-Encoding', async () => {
    const notGzip = unreadable(isOrders, (outgoing) => outgoing.end('[]'), { 'content-encoding': 'gzip' });
    expectStopped(
      await run(notGzip),
      /^GET \/store\/orders is answered 200, but .* \(incorrect header check\)\.$/,
    );
  });

  it('stops with one sentence at a body that takes too long', async () => {
    const timeout = new AbortController();
    jest.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal);
    const { fetch } = globalThis;
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (...request) => {
      const response = await fetch(...request);
      // The head arrives in time.
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

  it('stops at an endless body and closes its connection', async () => {
    const { write, sent } = endless(false);
    const closed: Promise<unknown>[] = [];
    const breakage = unreadable(isOrders, (outgoing) => closed.push(write(outgoing)));
    expectStopped(
      await run(breakage),
      /^GET \/store\/orders is answered 200 with a body of more than 4 MiB: .*\.$/,
    );
    await Promise.all(closed);
    expect(sent()).toBeLessThan(MAX_MIB);
  });

  it('stops at a small body that decompresses to a large one', async () => {
    const { write } = endless(true);
    const breakage = unreadable(isOrders, write, { 'content-encoding': 'gzip' });
    expectStopped(await run(breakage), /^GET \/store\/orders is answered 200 with a body of more than 4 MiB/);
  });

  it('prints one JSON document with --json even if it stops early', async () => {
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

  it('lists an added animal by its Location if the body is incomplete', async () => {
    const { out } = await run(
      unreadable(({ method }) => method === 'POST', cutShort),
      '--json',
    );
    const [newest] = await verified.app.database.query<{ id: string }>('SELECT max(id) AS id FROM pets');
    expect(JSON.parse(out).created).toEqual([{ id: Number(newest?.id), name: '' }]);
  });

  it('exits with 1 and one sentence if the first response is unreadable', async () => {
    const { status, out, all } = await run(unreadable(isFirst, cutShort));
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(all.trim()).toMatch(/^GET \/pets\?limit=0 is answered 400, but the body cannot be read .*$/);
  });

  it('rejects a name of 3 MiB by its length before its pattern, which would take hours', async () => {
    const { status, broken } = await run({
      response: (response, { method, path }) => {
        if (method !== 'GET' || !/^\/v1\/pets\/\d+$/.test(path) || response.status !== 200) return;
        const pet: object = JSON.parse(response.text);
        response.text = JSON.stringify({ ...pet, name: `${'x'.repeat(3 * MEBIBYTE)}\u0001` });
      },
    });
    expect(status).toBe(1);
    expect(broken).toEqual([expect.stringContaining('expected not to have more than 255 characters')]);
  });

  it('names a port that fetch blocks as the reason', async () => {
    const { status, all } = await verified.run(['--base-url', 'http://127.0.0.1:4190/v1', '--key', 'k']);
    expect(status).toBe(1);
    expect(all.trim()).toMatch(/^http:\/\/127\.0\.0\.1:4190\/v1 was not asked: its port .* block; .*$/);
  });
});
