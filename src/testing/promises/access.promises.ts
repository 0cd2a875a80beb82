import { REQUIRED_SCOPES, scopeSentence } from '../../platform/api-docs/required-scopes';
import { UNKNOWN_IDS } from './hostile-values';
import { codeOf, type Probe } from './probe';
import type { Operation } from './api-document';
import type { Resources } from './resources';

/** No operation has this method. */
const FOREIGN_METHOD = 'PROPFIND';

/** Checks keys, scopes and methods of each operation. */
export async function checkAccess(probe: Probe, resources: Resources): Promise<void> {
  const keys = new ScopedKeys(probe);
  for (const operation of probe.api.operations) {
    const path = resources.pathOf(operation);
    await checkKeys(probe, operation, path);
    await checkScope(probe, operation, resources, keys);
    await checkMethods(probe, operation, path);
  }
}

async function checkKeys(probe: Probe, operation: Operation, path: string): Promise<void> {
  for (const [what, key, code] of [
    ['a request without a key', undefined, 'missing_api_key'],
    ['a wrong key', 'wrong', 'invalid_api_key'],
  ] as const) {
    const response = await probe.send(operation, { path, key, body: bodyOf(operation), what });
    if (response.status !== 401 || codeOf(response) !== code) {
      probe.note(operation.title, `responds ${response.status} to ${what}, and must respond 401 ${code}`);
    }
  }
}

/** The key of every other scope is tried only if the operation rejects a key without its scope. */
async function checkScope(
  probe: Probe,
  operation: Operation,
  resources: Resources,
  keys: ScopedKeys,
): Promise<void> {
  const { title, object } = operation;
  const path = resources.pathOf(operation);
  const scopes = await requiredScopes(probe, operation, path, keys);
  if (!scopes) {
    probe.note(title, 'accepts a key without its scope. Declare the scope with @Operation');
    return;
  }
  const names = scopes.join(' or ');
  if (object.description?.includes(scopeSentence(scopes)) === false) {
    probe.note(title, `requires the scope ${names}, and its description names another one or none`);
  }
  if (object[REQUIRED_SCOPES]?.join(' or ') !== names) {
    probe.note(title, `requires the scope ${names}, and its ${REQUIRED_SCOPES} names another one or none`);
  }
  const key = await keys.with(probe.store.scopes.filter((each) => !scopes.includes(each)));
  const { status } = await probe.send(operation, { path, key, body: bodyOf(operation) });
  if (status !== 403) {
    probe.note(title, `responds ${status} to a key without the scope ${names}, and must respond 403`);
  }
  if (scopes.length > 1) await checkEachScope(probe, operation, resources, keys, scopes);
}

/** A key with any one of the scopes is enough. Without a body a change gets an unknown id, so that it changes nothing. */
async function checkEachScope(
  probe: Probe,
  operation: Operation,
  resources: Resources,
  keys: ScopedKeys,
  scopes: readonly string[],
): Promise<void> {
  const body = bodyOf(operation);
  const isHarmless = operation.method === 'GET' || body !== undefined;
  const path = resources.pathOf(operation, isHarmless ? undefined : UNKNOWN_IDS[0]);
  for (const scope of scopes) {
    const request = { path, key: await keys.with([scope]), body };
    const { status } = await probe.send(operation, request);
    if (status !== 403) continue;
    const problem = `responds 403 to a key with the scope ${scope}, and its description admits it`;
    probe.note(operation.title, problem);
  }
}

/** Finds the scopes by the rejection of a key with another one; undefined if two others are accepted. */
async function requiredScopes(
  probe: Probe,
  operation: Operation,
  path: string,
  keys: ScopedKeys,
): Promise<string[] | undefined> {
  const declared = operation.object[REQUIRED_SCOPES] ?? [];
  const others = probe.store.scopes.filter((scope) => !declared.includes(scope));
  for (const other of others.slice(0, 2)) {
    const request = { path, key: await keys.with([other]), body: bodyOf(operation) };
    const { status, headers } = await probe.send(operation, request);
    if (status === 403) return /scope="([^"]+)"/.exec(headers['www-authenticate'] ?? '')?.[1]?.split(' ');
  }
  return undefined;
}

async function checkMethods(probe: Probe, operation: Operation, path: string): Promise<void> {
  const { title, method } = operation;
  const foreign = await probe.store.fetch(`/v1${path}`, {
    method: FOREIGN_METHOD,
    key: await probe.store.key(),
  });
  const allowed = String(foreign.headers.allow).split(', ');
  if (foreign.status !== 405 || !allowed.includes(method)) {
    probe.note(title, `responds ${foreign.status} to the method ${FOREIGN_METHOD}, and must respond 405`);
  }
  if (method !== 'GET') return;
  const [get, head] = [
    await probe.send(operation, { path }),
    await probe.send(operation, { path, method: 'HEAD' }),
  ];
  if (get.status !== head.status) probe.note(title, `responds ${get.status}, and ${head.status} to HEAD`);
}

/** Checks the limit of the plan. It comes last, because it removes resources by DELETE. */
export async function checkLimits(probe: Probe, resources: Resources): Promise<void> {
  for (const operation of probe.api.operations) {
    const key = await probe.store.key({ perMinute: 1 });
    const request = { path: resources.pathOf(operation), key, body: bodyOf(operation) };
    await probe.send(operation, request);
    const { status } = await probe.send(operation, request);
    if (status !== 429) {
      const problem = `responds ${status} after the last request of the minute, and must respond 429`;
      probe.note(operation.title, problem);
    }
  }
}

/** No operation accepts this body: the checks change nothing. */
function bodyOf({ body }: Operation): string | undefined {
  return body === undefined ? undefined : '[]';
}

/** Keys by their scopes. */
class ScopedKeys {
  private readonly keys = new Map<string, string>();

  constructor(private readonly probe: Probe) {}

  async with(scopes: readonly string[]): Promise<string> {
    const name = scopes.join();
    const key = this.keys.get(name) ?? (await this.probe.store.key({ scopes }));
    this.keys.set(name, key);
    return key;
  }
}
