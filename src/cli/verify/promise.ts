import type { Answer } from './answer';
import type { ApiClient } from './api-client';
import { errorFaults, type Faults } from './faults';

/** One line of what a deployment promises, and how to see whether it holds. */
export interface ApiPromise {
  readonly name: string;
  check(api: ApiClient): Promise<Faults>;
}

/** A promise that one request is refused with an Error of this status and code. */
export function refuses(
  name: string,
  status: number,
  code: string,
  ask: (api: ApiClient) => Promise<Answer>,
): ApiPromise {
  return { name, check: async (api) => errorFaults(await ask(api), status, code) };
}

/** The same of several requests. */
export function refusesAll(
  name: string,
  status: number,
  code: string,
  asks: readonly ((api: ApiClient) => Promise<Answer>)[],
): ApiPromise {
  return {
    name,
    check: async (api) => {
      const faults: string[] = [];
      for (const ask of asks) faults.push(...errorFaults(await ask(api), status, code));
      return faults;
    },
  };
}
