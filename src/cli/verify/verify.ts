import { ApiClient, type CreatedAnimal, type Outside } from './api-client';
import { authentication } from './authentication.promises';
import { createPet } from './create-pet.promises';
import { everyAnswer } from './every-answer.promises';
import { exhaustion } from './exhaustion.promises';
import { type Faults, oneLine } from './faults';
import { getPet } from './get-pet.promises';
import { listPets } from './list-pets.promises';
import { ordersAndRoutes } from './orders-and-routes.promises';
import type { ApiPromise } from './promise';
import { VerifyError } from './verify.error';

export interface VerifyRequest {
  /** The base URL of the specification, `/v1` included. */
  readonly baseUrl: string;
  readonly key: string;
  /** Also spend the key's window. */
  readonly exhaust: boolean;
}

export interface Verdict {
  readonly promise: string;
  readonly faults: Faults;
}

export interface Verification {
  readonly baseUrl: string;
  readonly verdicts: readonly Verdict[];
  readonly requests: number;
  readonly created: readonly CreatedAnimal[];
  /** Why the promises after these were not looked at, where they were not. */
  readonly stopped?: string;
}

/** All promises in the order in which they are looked at: the lists need the animals, the last need all answers. */
function promises(exhaust: boolean): readonly ApiPromise[] {
  return [
    ...authentication,
    ...createPet,
    ...getPet,
    ...listPets,
    ...ordersAndRoutes,
    ...(exhaust ? exhaustion() : []),
    ...everyAnswer,
  ];
}

/**
 * Looks at every promise of the specification against a deployment, by HTTP alone. Fewer than 50 requests, unless the
 * window is to be spent; of its work the added animals stay.
 *
 * @param report told of each promise as soon as it is known
 * @throws VerifyError where nothing can be seen: no answer at all, or the key is refused
 */
export async function verify(
  { baseUrl, key, exhaust }: VerifyRequest,
  outside: Outside,
  report: (verdict: Verdict) => void,
): Promise<Verification> {
  const api = new ApiClient(baseUrl, key, outside);
  await requireKey(api);
  const verdicts: Verdict[] = [];
  const stopped = await checkAll(promises(exhaust), api, (verdict) => {
    verdicts.push(verdict);
    report(verdict);
  });
  const seen = { baseUrl, verdicts, requests: api.answers.length, created: api.created };
  return stopped === undefined ? seen : { ...seen, stopped };
}

/** @returns why not all were checked: what has been added by then must still be said */
async function checkAll(
  all: readonly ApiPromise[],
  api: ApiClient,
  report: (verdict: Verdict) => void,
): Promise<string | undefined> {
  try {
    for (const promise of all) report({ promise: promise.name, faults: await promise.check(api) });
    return undefined;
  } catch (error) {
    if (error instanceof VerifyError) return error.message;
    throw error;
  }
}

/** With a key that is refused every promise would fail, and none be at fault. */
async function requireKey(api: ApiClient): Promise<void> {
  const { status, text } = await api.send('GET', '/pets?limit=1');
  if (status === 401 || status === 403) {
    throw new VerifyError(
      `The deployment refuses the key (${status} ${oneLine(text)}): give one with all scopes.`,
    );
  }
}
