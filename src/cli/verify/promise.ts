import { petScopes } from '../../pets';
import type { ApiClient } from './api-client';
import { errorFaults, type Faults } from './faults';
import type { ReceivedResponse } from './received-response';

/** The scope to change and remove animals, which a buyer's key lacks. */
export const MANAGE_PETS = petScopes.manage;

/** A promise of the API, and how to check it. */
export interface ApiPromise {
  readonly name: string;
  /** Without this scope of the key the promise is skipped. */
  readonly needs?: typeof MANAGE_PETS;
  check(api: ApiClient): Promise<Faults>;
}

type Send = (api: ApiClient) => Promise<ReceivedResponse>;

/** Makes a promise that a request is rejected with an Error of this status and code. */
export function rejects(name: string, status: number, code: string, send: Send): ApiPromise {
  return rejectsAll(name, status, code, [send]);
}

/** Makes a promise that each of these requests is rejected with an Error of this status and code. */
export function rejectsAll(name: string, status: number, code: string, sends: readonly Send[]): ApiPromise {
  return {
    name,
    check: async (api) => {
      const faults: string[] = [];
      for (const send of sends) faults.push(...errorFaults(await send(api), status, code));
      return faults;
    },
  };
}
