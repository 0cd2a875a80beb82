import * as fc from 'fast-check';
import { parse } from 'lossless-json';
import { expectError } from '../../support/expect-error';
import { type Answer, send } from '../../support/http';
import { linksOf } from '../../support/links';
import { type FuzzRequest, mutationOf, operationsOf, requestTo } from './arbitraries';
import { RawConnection } from './raw';
import { expectCommonHeaders, expectErrorBody } from './raw-rows';

/** A service under fuzzing, and a key of it that no limit stops. */
export interface FuzzTarget {
  readonly url: string;
  readonly key: string;
}

const PETS = '/v1/pets';

/** What a body may say, by the path that it is sent to; everything else in it is ignored. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  [PETS]: ['name', 'categoryId', 'status'],
  '/v1/store/orders': ['petId'],
};

/** What the service said that it stored, by its own address: the answers to the writes, byte for byte. */
type Ledger = Map<string, string>;

/**
 * Sends arbitrary bodies to every operation: no 5xx, every refusal an Error body, and what was stored is exactly what
 * an accepted body said, no more and no less.
 *
 * @returns how many bodies were accepted
 */
export async function fuzzBodies(target: FuzzTarget, runs: number): Promise<number> {
  const { json } = await send(target.url, 'GET', '/openapi.json');
  const ledger: Ledger = new Map();
  const request = requestTo(operationsOf(json));
  await fc.assert(
    fc.asyncProperty(request, (sent) => expectHonestAnswer(target, sent, ledger)),
    { numRuns: runs, interruptAfterTimeLimit: 600_000, markInterruptAsFailure: true },
  );
  const pets = [...ledger].filter(([path]) => path.startsWith(`${PETS}/`)).map(([, text]) => text);
  // Orders, too, move the status, which was read after each write.
  const lasting = (texts: readonly string[]) =>
    texts.map((text) => text.replace(/,"status":"\w+"\}$/, '}')).sort();
  expect(lasting(await listed(target))).toEqual(lasting(pets));
  return ledger.size;
}

/** Sends requests with some bytes changed: no 5xx, no hang, no answer without the promised headers. */
export async function fuzzRequests({ url, key }: FuzzTarget, runs: number): Promise<void> {
  const head = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  const seeds = [
    `GET ${PETS}?limit=1 HTTP/1.1\r\n${head}\r\n`,
    `POST ${PETS} HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`,
    `POST ${PETS} HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET / HTTP/1.1\r\n${head}\r\n`,
  ];
  const mutated = fc.oneof(...seeds.map((seed) => mutationOf(Buffer.from(seed))));
  await fc.assert(
    fc.asyncProperty(mutated, async (bytes) => {
      const raw = await RawConnection.open(url);
      // Half a request is none once its client has ended: nobody has to wait for a timeout.
      raw.socket.end(bytes);
      for (let answer = await raw.answer(); answer; answer = await raw.answer()) {
        if (answer.status === 100) continue;
        expect(answer.status).toBeLessThan(500);
        expectCommonHeaders(answer);
        if (answer.status >= 400 && answer.text !== '') expectErrorBody(answer, expect.any(String) as never);
      }
      expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
      raw.destroy();
    }),
    { numRuns: runs },
  );
}

async function expectHonestAnswer(target: FuzzTarget, sent: FuzzRequest, ledger: Ledger): Promise<void> {
  const { method, path, headers, body } = sent;
  const answer = await send(target.url, method, path, { key: target.key, headers, body });
  expect(answer.status).toBeLessThan(500);
  expectCommonHeaders(answer as never);
  if (answer.status >= 400 && method !== 'HEAD')
    expectError(answer, answer.status, answer.json.code as string);
  if (answer.status === 201) await expectStored(target, sent, answer, ledger);
}

/** The answer says what the body said, and so does the resource when it is read again. */
async function expectStored(
  target: FuzzTarget,
  { path, body }: FuzzRequest,
  answer: Answer,
  ledger: Ledger,
): Promise<void> {
  const location = String(answer.headers['location']);
  const said = exactly(body.toString());
  const stored = exactly(answer.text);
  for (const name of FIELDS[path.split('?')[0]!]!) {
    if (Object.hasOwn(said, name)) expect([name, stored[name]]).toEqual([name, said[name]]);
  }
  expect((await send(target.url, 'GET', location, { key: target.key })).text).toBe(answer.text);
  ledger.set(location, answer.text);
}

/** All animals, each as the list spells it. */
async function listed({ url, key }: FuzzTarget): Promise<string[]> {
  const texts: string[] = [];
  for (let path: string | undefined = `${PETS}?limit=100`; path !== undefined;) {
    const page: Answer = await send(url, 'GET', path, { key });
    texts.push(
      ...page.text
        .slice(1, -1)
        .split(/(?<=\}),(?=\{"id":)/)
        .filter((text) => text !== ''),
    );
    path = linksOf(page)['next'];
  }
  return texts;
}

/** The members of a JSON object; integers, however they are spelt, as bigint. */
function exactly(text: string): Record<string, unknown> {
  const integer = (digits: string) => {
    const plain = /^(-?\d+)(?:\.0+|e0)?$/.exec(digits)?.[1];
    return plain === undefined ? BigInt(Number(digits)) : BigInt(plain);
  };
  return parse(text, undefined, {
    parseNumber: (digits) => {
      try {
        return integer(digits);
      } catch {
        return digits;
      }
    },
  }) as Record<string, unknown>;
}
