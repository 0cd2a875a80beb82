import type { ApiClient } from './api-client';
import { errorFaults, type Faults } from './faults';
import type { ReceivedResponse } from './received-response';

/** A promise of the API, and how to check it. */
export interface ApiPromise {
  readonly name: string;
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
