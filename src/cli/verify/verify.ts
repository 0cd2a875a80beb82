import { UserError } from '../../platform/errors/user-error';
import { ApiClient, type CreatedAnimal, type Runtime } from './api-client';
import { authentication } from './authentication.promises';
import { createPet } from './create-pet.promises';
import { everyResponse } from './every-response.promises';
import { exhaustion } from './exhaustion.promises';
import { type Faults, oneLine } from './faults';
import { getPet } from './get-pet.promises';
import { listPets } from './list-pets.promises';
import { ordersAndRoutes } from './orders-and-routes.promises';
import type { ApiPromise } from './promise';

export interface VerifyRequest {
  /** Including `/v1`. */
  readonly baseUrl: string;
  readonly key: string;
  /** True: also use up the rate limit of the key. */
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
  /** Why the verification ended before the last promise; undefined if it did not. */
  readonly stopped?: string;
}

/** Lists all promises in their order: those about lists need the added animals, and the last need all responses. */
function promises(exhaust: boolean): readonly ApiPromise[] {
  return [
    ...authentication,
    ...createPet,
    ...getPet,
    ...listPets,
    ...ordersAndRoutes,
    ...(exhaust ? exhaustion() : []),
    ...everyResponse,
  ];
}

/**
 * Checks every promise of the specification against a deployment, only over HTTP. Sends fewer than 50 requests, unless
 * it uses up the rate limit. The animals that it adds stay.
 *
 * @param report receives each verdict immediately
 * @throws UserError if nothing can be checked: the deployment does not respond, or rejects the key
 */
export async function verify(
  { baseUrl, key, exhaust }: VerifyRequest,
  runtime: Runtime,
  report: (verdict: Verdict) => void,
): Promise<Verification> {
  const api = new ApiClient(baseUrl, key, runtime);
  await requireKey(api);
  const verdicts: Verdict[] = [];
  const stopped = await checkAll(promises(exhaust), api, (verdict) => {
    verdicts.push(verdict);
    report(verdict);
  });
  const verification = { baseUrl, verdicts, requests: api.responses.length, created: api.created };
  return stopped === undefined ? verification : { ...verification, stopped };
}

/**
 * Checks the promises in order.
 *
 * @returns why it stopped early; the animals added by then must still be reported
 */
async function checkAll(
  all: readonly ApiPromise[],
  api: ApiClient,
  report: (verdict: Verdict) => void,
): Promise<string | undefined> {
  try {
    for (const promise of all) report({ promise: promise.name, faults: await promise.check(api) });
    return undefined;
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
}

/** Checks the key first: with a wrong key every promise would fail, and the deployment would not be the cause. */
async function requireKey(api: ApiClient): Promise<void> {
  const { status, text } = await api.send('GET', '/pets?limit=1');
  if (status === 401 || status === 403) {
    throw new UserError(
      `The deployment refuses the key (${status} ${oneLine(text)}): give one with all scopes.`,
    );
  }
}
