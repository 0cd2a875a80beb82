import assert from 'node:assert/strict';
import type { TestRequest, TestResponse } from './http-client';
import type { TestStore } from './test-store';

/** The promises of a part that a team replaces: `for (const { title, check } of contract) it(title, check)`. */
export type Contract = readonly {
  /** A promise in the present tense. */
  readonly title: string;
  /** Rejects with an AssertionError if the promise is broken. */
  readonly check: () => Promise<void>;
}[];

/**
 * A store with the authenticator under test. Credentials are values of the `Authorization` header.
 *
 * The plans of the accounts allow at most 1,000 requests a minute.
 */
export interface AuthenticatorUnderTest {
  readonly store: TestStore;
  /** Credentials of two accounts, with the scopes of a buyer: read and write of animals and orders. */
  readonly first: string;
  readonly second: string;
  /** Credentials with the scope `pets:read` only. */
  readonly readOnly: string;
  /** Credentials of an account that has sent no request; each call is for another account. */
  newAccount(): string | Promise<string>;
  /** Credentials that look like valid ones and are not. */
  readonly invalid: string;
  readonly expired?: string;
}

type Given = () => AuthenticatorUnderTest | Promise<AuthenticatorUnderTest>;

const PETS = '/v1/pets';
const ORDERS = '/v1/store/orders';
const NEW_PET = { name: 'Rex', categoryId: 3 };
/** Requests in addition to the limit. */
const EXCESS = 10;

/** Values of the header that programs misread. */
const HOSTILE: readonly string[] = [
  'Bearer',
  'Bearer ',
  'Bearer null',
  'Bearer a b c',
  'Bearer \u00ff\u00fe',
  "Bearer ' OR 1=1 --",
  'Bearer __proto__',
  'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.',
  `Bearer ${'x'.repeat(8_000)}`,
  'Basic YWRtaW46YWRtaW4=',
  ',',
];

/**
 * Lists the promises of an authenticator, over HTTP.
 *
 * @param given returns the same store for each check; its owner closes it
 */
export function authenticatorContract(given: Given): Contract {
  return Object.entries(PROMISES).map(([title, check]) => ({
    title,
    check: async () => check(new CredentialsClient(await given())),
  }));
}

const PROMISES: Readonly<Record<string, (client: CredentialsClient) => Promise<void>>> = {
  async 'valid credentials of two accounts are accepted'(client) {
    for (const authorization of [client.under.first, client.under.second]) {
      assert.equal((await client.send(PETS, authorization)).status, 200);
      assert.equal((await client.post(PETS, authorization, NEW_PET)).status, 201);
    }
  },
  async 'missing, invalid, expired and repeated credentials are 401'(client) {
    const { first, second, invalid, expired } = client.under;
    await client.requireUnauthorized('no Authorization header', undefined);
    await client.requireUnauthorized('an empty Authorization header', '');
    await client.requireUnauthorized('invalid credentials', invalid);
    if (expired !== undefined) await client.requireUnauthorized('expired credentials', expired);
    await client.requireUnauthorized('two Authorization headers', [first, second]);
    await client.requireUnauthorized('valid and invalid credentials', [first, invalid]);
  },
  async 'a hostile header is 401 and never an internal error'(client) {
    const { first } = client.under;
    for (const value of [...HOSTILE, `${first}x`, `${first} ${first}`, first.slice(0, -1)]) {
      await client.requireUnauthorized(value.slice(0, 60), value);
    }
  },
  async 'credentials without the scope of an operation are 403'(client) {
    const { readOnly } = client.under;
    assert.equal((await client.send(PETS, readOnly)).status, 200);
    const rejected = await client.post(PETS, readOnly, NEW_PET);
    assert.deepEqual([rejected.status, rejected.json.code], [403, 'insufficient_scope']);
  },
  async 'two concurrent first requests of an account are one account'(client) {
    const authorization = await client.under.newAccount();
    const responses = await client.sendConcurrently(2, authorization);
    for (const { status } of responses) assert.equal(status, 200);
    // Two accounts would have a window each.
    const [one, other] = responses.map(remainingOf);
    assert.equal(Math.abs(Number(one) - Number(other)), 1, 'the requests have different windows');
  },
  async 'N + k concurrent requests of an account: exactly N are admitted, and other accounts are'(client) {
    const authorization = await client.under.newAccount();
    const remaining = remainingOf(await client.send(PETS, authorization));
    const responses = await client.sendConcurrently(remaining + EXCESS, authorization);
    assert.equal(responses.filter(({ status }) => status === 200).length, remaining);
    assert.equal(responses.filter(({ status }) => status === 429).length, EXCESS);
    assert.equal((await client.send(PETS, client.under.second)).status, 200);
  },
  async 'an order belongs to the account that placed it'(client) {
    const { first, second } = client.under;
    const pet = await client.post(PETS, first, NEW_PET);
    const order = await client.post(ORDERS, first, { petId: pet.json.id });
    assert.equal(order.status, 201, order.text);
    const path = String(order.headers.location);
    assert.equal((await client.send(path, first)).status, 200);
    assert.equal((await client.send(path, second)).status, 404);
    assert.ok(!(await client.send(ORDERS, second)).text.includes(`"id":${order.json.id},`));
  },
};

function remainingOf({ headers }: TestResponse): number {
  return Number(headers['x-ratelimit-remaining']);
}

class CredentialsClient {
  /** A new minute, so that no check uses up the limit of the next one. */
  constructor(readonly under: AuthenticatorUnderTest) {
    under.store.clock.advance({ seconds: 61 });
  }

  send(path: string, authorization: string | readonly string[] | undefined, request: TestRequest = {}) {
    const headers = authorization === undefined ? {} : { authorization };
    return this.under.store.fetch(path, { ...request, headers });
  }

  sendConcurrently(count: number, authorization: string): Promise<TestResponse[]> {
    return Promise.all(Array.from({ length: count }, () => this.send(PETS, authorization)));
  }

  post(path: string, authorization: string, body: object): Promise<TestResponse> {
    return this.send(path, authorization, { method: 'POST', body });
  }

  async requireUnauthorized(what: string, authorization: string | readonly string[] | undefined) {
    const response = await this.send(PETS, authorization);
    assert.equal(response.status, 401, `${what}: ${response.text}`);
    assert.match(response.headers['www-authenticate'] ?? '', /^[A-Za-z]+/, what);
    const { code, message, status } = response.json;
    assert.deepEqual([typeof code, typeof message, status], ['string', 'string', 401], what);
  }
}
