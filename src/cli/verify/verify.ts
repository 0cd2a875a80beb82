import { DEFAULT_SCOPES } from '../../app/store';
import { UserError } from '../../platform/errors/user-error';
import { ApiClient, type Runtime } from './api-client';
import { authentication } from './authentication.promises';
import type { CreatedAnimal } from './changes';
import { compare } from './compare.promises';
import { createPet } from './create-pet.promises';
import { everyResponse } from './every-response.promises';
import { exhaustion } from './exhaustion.promises';
import { type Faults, oneLine } from './faults';
import { findPets } from './find-pets.promises';
import { getPet } from './get-pet.promises';
import { ownKey, ownKeyExhausted } from './key.promises';
import { listPets } from './list-pets.promises';
import { changePets, mayManagePets, removePets } from './manage-pets.promises';
import { orders } from './orders.promises';
import { ordersAndRoutes } from './orders-and-routes.promises';
import type { ApiPromise } from './promise';
import { problemDetails } from './problem-details.promises';
import { removeRest } from './remove-rest';

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
  /** The promises that were not checked, because the key lacks the scope to change and remove animals. */
  readonly skipped: readonly string[];
  readonly requests: number;
  readonly created: readonly CreatedAnimal[];
  /** The animals of `created` that were not removed again. */
  readonly left: readonly CreatedAnimal[];
  /** Why the verification ended before the last promise; undefined if it did not. */
  readonly stopped?: string;
}

/**
 * Lists all promises in their order: those about lists, changes and orders need the added animals, which the promise
 * about removal removes; the last need all responses.
 */
function promises(exhaust: boolean): readonly ApiPromise[] {
  return [
    ...authentication,
    ...ownKey,
    ...createPet,
    ...getPet,
    ...listPets,
    ...findPets,
    ...ordersAndRoutes,
    ...problemDetails,
    ...compare,
    ...changePets,
    ...orders,
    ...removePets,
    ...(exhaust ? [...exhaustion(), ownKeyExhausted] : []),
    ...everyResponse,
  ];
}

/**
 * Checks every promise of the specification against a deployment, only over HTTP. Sends fewer than 70 requests, of
 * which at most 60 count for the key, unless it uses up the rate limit. Removes the animals that it adds if the key may.
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
  const skipped: string[] = [];
  const stopped = await untilStopped(async () => {
    for (const promise of promises(exhaust)) {
      if (promise.needs && !(await mayManagePets(api))) {
        skipped.push(promise.name);
        continue;
      }
      const verdict = { promise: promise.name, faults: await promise.check(api) };
      verdicts.push(verdict);
      report(verdict);
    }
  });
  // The removal itself is a promise; this one comes after an early end.
  if (stopped !== undefined) await untilStopped(() => removeRest(api));
  const { created, left } = api.changes;
  const verification = { baseUrl, verdicts, skipped, requests: api.responses.length, created, left };
  return stopped === undefined ? verification : { ...verification, stopped };
}

/** @returns why the work stopped early; what it added by then must still be removed or reported */
async function untilStopped(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
}

/**
 * Checks the key first: with a wrong key every promise would fail, and the deployment would not be the cause. A later
 * promise needs the same request.
 */
async function requireKey(api: ApiClient): Promise<void> {
  const { status, text } = await api.get('/pets?limit=0');
  if (status === 401 || status === 403) {
    throw new UserError(
      `The deployment refuses the key (${status} ${oneLine(text)}): give one with the scopes ${DEFAULT_SCOPES.join(', ')}.`,
    );
  }
}
