import { setTimeout as sleep } from 'node:timers/promises';
import { siteOf } from '../platform/errors/problem-details';
import { UserError } from '../platform/errors/user-error';
import { Api, codeOf, shortened } from './api';
import { ApiDocument, isList, readCommittedDocument } from './api-document';
import { sendRequest, type TestRequest } from './http-client';
import { isObject, jsonIn, jsonOf, valueAt } from './json';
import { OperationUnderTest } from './promises/operation-under-test';
import { checkPromises } from './promises/promises';
import { Resources } from './resources';

const MAX_LIMIT = 10_000;
const BATCH_SIZE = 10;

export interface Verdict {
  readonly promise: string;
  readonly faults: readonly string[];
}

/**
 * Checks every promise against a deployment, only over HTTP, and removes what it creates. Waits when a limit is used up.
 *
 * @param baseUrl including `/v1`
 * @param options `leave` allows that resources stay there; `exhaust` also uses up the rate limit of the key
 * @param report receives each verdict immediately
 * @throws UserError if nothing can be checked: the deployment does not respond, or rejects the key, or resources would stay
 */
export async function verifyDeployment(
  baseUrl: string,
  key: string,
  options: { readonly leave?: true; readonly exhaust?: true },
  report: (verdict: Verdict) => void,
) {
  const deployment = new Deployment(baseUrl);
  const api = await apiOf(deployment, key);
  const resources = new Resources(api);
  const [lasting] = options.leave ? [] : resources.lasting();
  if (lasting) {
    throw new UserError(
      `The key may not remove what ${lasting.title} creates: give a key that may, such as one with pets:manage and without admin, or allow with --leave that it stays.`,
    );
  }
  const verdicts: Verdict[] = [];
  const take = (promise: string, faults: readonly string[]): void => {
    verdicts.push({ promise, faults });
    report({ promise, faults });
  };
  let stopped: string | undefined;
  // The created resources are removed or listed after any failure.
  const fail = (error: unknown): void => {
    const unexpected = `verify itself failed (${String(error)}). Report it, please.`;
    stopped ??= error instanceof UserError ? error.message : unexpected;
  };
  // The removal of what was created is not interrupted.
  const interrupt = (): void => deployment.interruption.abort();
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  await checkPromises(api, resources, take).catch(fail);
  process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  deployment.interruption = new AbortController();
  const created = resources.created.map(({ path }) => path);
  await resources.removeAll().catch(fail);
  if (options.exhaust && stopped === undefined) {
    const known = api.faults.length;
    await useUpLimit(api, resources).catch(fail);
    take('a request over the limit gets 429, not before Retry-After', api.faults.slice(known));
  }
  return {
    baseUrl,
    verdicts,
    // Only the errors of these operations were checked.
    skipped: api.operations.filter((each) => !api.succeeded.has(each)).map(({ title }) => title),
    requests: deployment.requests,
    created,
    // Those that were neither removed nor cancelled.
    left: resources.created.map(({ path }) => path),
    // Why the verification ended before the last promise.
    ...(stopped !== undefined && { stopped }),
  };
}

class Deployment {
  requests = 0;
  /** Ends the checks at the next request. */
  interruption = new AbortController();

  constructor(readonly url: string) {}

  /** @param path below the base URL @throws UserError if the response does not arrive completely */
  async send(path: string, request: TestRequest = {}, base = new URL(this.url).pathname) {
    if (this.interruption.signal.aborted) throw new UserError('Interrupted.');
    this.requests += 1;
    try {
      return await sendRequest(this.url, `${base}${path}`, request);
    } catch (error) {
      const what = `${request.method ?? 'GET'} ${base}${path} (${shortened(String(error))})`;
      const advice = 'check --base-url, and that the deployment runs';
      throw new UserError(`${this.url} gives no complete response to ${what}: ${advice}.`);
    }
  }

  async wait(seconds: number): Promise<void> {
    process.stderr.write(`The limit of the key is used up. Continuing in ${seconds} s.\n`);
    await sleep(seconds * 1_000, undefined, this.interruption).catch(() => undefined);
  }
}

/** @throws UserError if nothing can be checked: the deployment does not respond, or rejects the key */
async function apiOf(deployment: Deployment, key: string): Promise<Api> {
  const own = await deployment.send('/key', { key });
  if (own.status === 401 || own.status === 403) {
    throw new UserError(
      `The deployment rejects the key (${own.status} ${codeOf(own)}): give one with the scopes of a new key.`,
    );
  }
  const scopes = valueAt(jsonIn(own.text), 'scopes');
  if (own.status !== 200 || !Array.isArray(scopes)) {
    throw new UserError(
      `GET ${deployment.url}/key responds ${own.status} and no key: check --base-url, and that the deployment is an Animal Store.`,
    );
  }
  const root = siteOf(new URL(deployment.url).pathname);
  const { text } = await deployment.send('/openapi.json', {}, root);
  // This version, with the operations that only the deployment's document has.
  const document = merged(jsonIn(readCommittedDocument()), jsonIn(text));
  return new Api(new ApiDocument(jsonOf(document)), deployment, key, scopes.map(String));
}

/** Adds the members that only the other object has, in objects within it, too. */
function merged(own: unknown, other: unknown): unknown {
  if (!isObject(own) || !isObject(other)) return own;
  const both = Object.keys(own).filter((name) => name in other);
  const members = both.map((name) => [name, merged(own[name], other[name])]);
  return { ...own, ...other, ...Object.fromEntries(members) };
}

/** Sends requests until the response is 429; in concurrent batches, so that the minute does not end first. */
async function useUpLimit(api: Api, resources: Resources): Promise<void> {
  const list = api.operations.find((each) => isList(each) && api.may(each) && !each.path.includes('{'));
  if (!list) throw new UserError('No list can be read with this key.');
  const send = () => api.target.send(`${list.path}?limit=1`, { key: api.key });
  let last = await send();
  const limit = Number(last.headers['x-ratelimit-limit']);
  if (limit > MAX_LIMIT) {
    throw new UserError(`The limit of ${limit} requests is too large for --exhaust. Use a smaller plan.`);
  }
  for (let sent = 1; sent <= 2 * limit + BATCH_SIZE && last.status !== 429; sent += BATCH_SIZE) {
    const responses = await Promise.all(Array.from({ length: BATCH_SIZE }, send));
    last = responses.find(({ status }) => status === 429) ?? last;
  }
  new OperationUnderTest(api, resources, list).requires(last, 'over the limit', '429');
  const { status } = await api.target.send('/key', { key: api.key });
  if (status !== 200) api.note('GET /v1/key', `responds ${status} over the limit, and must respond 200`);
}
