import { REQUIRED_SCOPES, scopeSentence } from '../../platform/api-docs/required-scopes';
import type { Operation } from './api-document';
import { UNKNOWN_IDS } from './hostile-values';
import { bodyOf, type Probe } from './probe';
import type { Resources } from './resources';

/** Keys by their scopes. */
export class ScopedKeys {
  private readonly keys = new Map<string, string>();

  constructor(private readonly probe: Probe) {}

  async with(scopes: readonly string[]): Promise<string> {
    const name = scopes.join();
    const key = this.keys.get(name) ?? (await this.probe.store.key({ scopes }));
    this.keys.set(name, key);
    return key;
  }
}

/** The key of every other scope is tried only if the operation rejects a key without its scope. */
export async function checkScope(
  probe: Probe,
  operation: Operation,
  resources: Resources,
  keys: ScopedKeys,
): Promise<void> {
  const { title, object } = operation;
  const path = resources.pathOf(operation);
  if (object[REQUIRED_SCOPES]?.length === 0) {
    await checkAnyKey(probe, operation, path, keys);
    return;
  }
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

/** A key with any scope is enough if the document lists none. */
async function checkAnyKey(
  probe: Probe,
  operation: Operation,
  path: string,
  keys: ScopedKeys,
): Promise<void> {
  for (const scope of probe.store.scopes.slice(0, 2)) {
    const request = { path, key: await keys.with([scope]), body: bodyOf(operation) };
    const { status } = await probe.send(operation, request);
    if (status !== 403) continue;
    const problem = `responds 403 to a key with the scope ${scope}, and its ${REQUIRED_SCOPES} is empty`;
    probe.note(operation.title, problem);
  }
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
