import assert from 'node:assert/strict';
import type { TestRequest, TestResponse } from './http-client';
import type { TestStore } from './test-store';

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
  /** Credentials of an account that has sent no request; each call returns those of another account. */
  newAccount(): string | Promise<string>;
  /** Credentials that look like valid ones and are not. */
  readonly invalid: string;
  readonly expired?: string;
}

export const PETS = '/v1/pets';

/** Sends requests with credentials. */
export class CredentialsClient {
  /** A new minute, so that no check uses up the limit of the next one. */
  constructor(readonly under: AuthenticatorUnderTest) {
    under.store.clock.advance({ seconds: 61 });
  }

  send(path: string, authorization: string | readonly string[] | undefined, request: TestRequest = {}) {
    const headers = authorization === undefined ? {} : { authorization };
    return this.under.store.fetch(path, { ...request, headers });
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
