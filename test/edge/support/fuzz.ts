import * as fc from 'fast-check';
import { parse } from 'lossless-json';
import { expectError } from '../../support/expect-error';
import { type HttpResponse, send } from '../../support/http';
import { expectProblem, PROBLEM } from '../../problems/support/problem';
import { linksOf } from '../../support/links';
import { type FuzzRequest, mutationOf, operationsOf, requestTo } from './arbitraries';
import { RawConnection } from './raw';
import { expectCommonHeaders, expectErrorBody } from './raw-rows';

/** The service to fuzz, and a key without an effective rate limit. */
export interface FuzzTarget {
  readonly url: string;
  readonly key: string;
}

const PETS = '/v1/pets';

/** The last bodies of the resources that exist, byte for byte, by path. */
type StoredBodies = Map<string, string>;

/** The names of the members of bodies, by method and path. The service ignores all others. */
type Fields = Readonly<Record<string, readonly string[]>>;

/**
 * Sends arbitrary bodies to every operation. No response is a 5xx, every rejection has an Error body and problem details
 * of the same status and code, and exactly the accepted bodies are stored.
 *
 * @returns the number of resources that exist at the end
 */
export async function fuzzBodies(target: FuzzTarget, runs: number): Promise<number> {
  const { json } = await send(target.url, 'GET', '/openapi.json');
  const bodies: StoredBodies = new Map();
  const operations = operationsOf(json);
  const fields = Object.fromEntries(
    operations.map(({ method, path, members }) => [`${method} ${path}`, Object.keys(members)]),
  );
  const request = requestTo(operations);
  await fc.assert(
    fc.asyncProperty(request, (sent) => expectDocumented(target, sent, fields, bodies)),
    { numRuns: runs, interruptAfterTimeLimit: 600_000, markInterruptAsFailure: true },
  );
  const pets = [...bodies].filter(([path]) => path.startsWith(`${PETS}/`)).map(([, text]) => text);
  // Orders change the status, too; each write was read back immediately.
  const lasting = (texts: readonly string[]) =>
    texts.map((text) => text.replace(/,"status":"\w+"\}$/, '}')).sort();
  expect(lasting(await listed(target))).toEqual(lasting(pets));
  return bodies.size;
}

/** Sends requests with changed bytes. No response is a 5xx or late, and all have the promised headers. */
export async function fuzzRequests({ url, key }: FuzzTarget, runs: number): Promise<void> {
  const head = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  const seeds = [
    `GET ${PETS}?limit=1 HTTP/1.1\r\n${head}\r\n`,
    `POST ${PETS} HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`,
    `POST ${PETS} HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET / HTTP/1.1\r\n${head}\r\n`,
    `GET ${PETS}?id=1&id=2&categoryId=3&sort=-id HTTP/1.1\r\n${head}If-None-Match: "a", W/"b"\r\n\r\n`,
    `PATCH ${PETS}/1 HTTP/1.1\r\n${head}If-Match: "a", *\r\nContent-Length: 12\r\n\r\n{"name":"a"}`,
    `DELETE ${PETS}/1 HTTP/1.1\r\n${head}If-Match: "a"\r\n\r\n`,
  ];
  const mutated = fc.oneof(...seeds.map((seed) => mutationOf(Buffer.from(seed))));
  await fc.assert(
    fc.asyncProperty(mutated, async (bytes) => {
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
    }),
    { numRuns: runs },
  );
}

async function expectDocumented(
  target: FuzzTarget,
  sent: FuzzRequest,
  fields: Fields,
  bodies: StoredBodies,
): Promise<void> {
  const { method, path, headers, body } = sent;
  const response = await send(target.url, method, path, { key: target.key, headers, body });
  expect(response.status).toBeLessThan(500);
  expectCommonHeaders(response as never);
  if (response.status >= 400) await expectBothForms(target, sent, response);
  if (response.status === 201)
    await expectStored(target, sent, response, fields[`POST ${pathOf(sent)}`]!, bodies);
  if (!pathOf(sent).startsWith(`${PETS}/`)) return;
  if (method === 'PATCH' && response.status === 200)
    await expectStored(target, sent, response, fields[`PATCH ${PETS}/{petId}`]!, bodies);
  if (method === 'DELETE' && response.status === 204) await expectRemoved(target, sent, bodies);
}

/** Sends a rejected request again, preferring problem details: they have the same status, code and message. */
async function expectBothForms(target: FuzzTarget, sent: FuzzRequest, plain: HttpResponse): Promise<void> {
  const { method, path, body } = sent;
  const headers = { ...sent.headers, accept: PROBLEM };
  const problem = await send(target.url, method, path, { key: target.key, headers, body });
  if (method === 'HEAD') {
    expect([problem.status, problem.text]).toEqual([plain.status, plain.text]);
    return;
  }
  const { code, message } = plain.json;
  expectError(plain, plain.status, code);
  expectProblem(problem, plain.status, code);
  expect(problem.json.detail).toBe(message);
}

/** The router decodes the path: `%31` is the id 1, too. */
function pathOf({ path }: FuzzRequest): string {
  return path.split('?')[0]!;
}

/** Compares the response, and the resource when it is read again, with the body. */
async function expectStored(
  target: FuzzTarget,
  { body }: FuzzRequest,
  response: HttpResponse,
  fields: readonly string[],
  bodies: StoredBodies,
): Promise<void> {
  const sent = exactly(body.toString());
  const stored = exactly(response.text);
  const location = response.headers['location'] ?? `${PETS}/${String(stored['id'])}`;
  for (const name of fields) {
    if (Object.hasOwn(sent, name)) expect([name, stored[name]]).toEqual([name, sent[name]]);
  }
  expect((await send(target.url, 'GET', location, { key: target.key })).text).toBe(response.text);
  bodies.set(location, response.text);
}

async function expectRemoved(target: FuzzTarget, sent: FuzzRequest, bodies: StoredBodies): Promise<void> {
  const path = decodeURIComponent(pathOf(sent));
  expect(bodies.delete(path)).toBe(true);
  expectError(await send(target.url, 'GET', path, { key: target.key }), 404, 'pet_not_found');
}

/** Returns all animals, each as the list prints it. */
async function listed({ url, key }: FuzzTarget): Promise<string[]> {
  const texts: string[] = [];
  for (let path: string | undefined = `${PETS}?limit=100`; path !== undefined;) {
    const page: HttpResponse = await send(url, 'GET', path, { key });
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

/** Parses a JSON object; every integer becomes a bigint, in any notation. */
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
