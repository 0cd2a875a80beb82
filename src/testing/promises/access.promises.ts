import { scopeSentence } from '../../platform/api-docs/required-scopes';
import { UNCOUNTED } from '../../platform/api-docs/uncounted.decorator';
import { type Api, bodyOf, codeOf, isSuccess } from '../api';
import { isList, type Operation } from '../api-document';
import { jsonIn, valueAt } from '../json';
import { idOf, parentOf, type Resource, type Resources, UNKNOWN_IDS } from '../resources';
import type { ApiPromise } from './promise';

/** No operation has this method. */
const FOREIGN_METHOD = 'PROPFIND';
const NO_PATH = '/nothing-here';
const REQUIRED = 'x-required-scopes';

/** Keys, scopes, methods and addresses of each operation. */
export const accessPromises: readonly ApiPromise[] = [
  {
    title: 'a request without a valid key gets 401, also with a body that is not JSON',
    check: (api, resources) =>
      each(api, (operation) => checkKeys(api, operation, resources.pathOf(operation))),
  },
  {
    title: 'a key without the scope of an operation gets 403',
    check: (api, resources) => each(api, (operation) => checkScope(api, operation, resources)),
  },
  { title: 'an unknown address gets 404, an unknown method 405 with Allow', check: checkAddresses },
  {
    title: "a resource of an account's own list is unknown to other accounts",
    needs: 'test store',
    check: checkOtherAccounts,
  },
];

/** The limit of the plan. It comes late, because it removes resources by DELETE. */
export const limitPromise: ApiPromise = {
  title: 'an operation is limited by the plan unless its document says otherwise',
  needs: 'test store',
  check: (api, resources) => each(api, (operation) => checkLimit(api, operation, resources)),
};

async function each(api: Api, check: (operation: Operation) => Promise<void>): Promise<void> {
  for (const operation of api.operations) await check(operation);
}

async function checkKeys(api: Api, operation: Operation, path: string): Promise<void> {
  const isFirst = operation === api.operations[0];
  for (const [what, headers, code, challenge] of [
    ['a request without a key', {}, 'missing_api_key', /^Bearer\b/i],
    [
      'a wrong key',
      { authorization: 'Bearer wrong' },
      'invalid_api_key',
      /^Bearer\b.*error="invalid_token"/i,
    ],
    ...(isFirst
      ? [['another scheme', { authorization: 'Basic dTpw' }, 'missing_api_key', /^Bearer\b/i] as const]
      : []),
  ] as const) {
    const response = await api.send(operation, {
      path,
      key: undefined,
      headers,
      body: bodyOf(operation),
      what,
    });
    if (response.status !== 401 || codeOf(response) !== code) {
      api.note(operation.title, `responds ${response.status} to ${what}, and must respond 401 ${code}`);
    } else if (!challenge.test(String(response.headers['www-authenticate']))) {
      api.note(
        operation.title,
        `responds 401 to ${what} with a WWW-Authenticate that does not match ${challenge}`,
      );
    }
  }
}

async function checkAddresses(api: Api, resources: Resources): Promise<void> {
  const unknown = await api.target.send(NO_PATH, { key: api.key });
  if (unknown.status !== 404 || codeOf(unknown) !== 'route_not_found') {
    api.note(`GET /v1${NO_PATH}`, `responds ${unknown.status}, and must respond 404 route_not_found`);
  }
  const allowed = new Map<string, string>();
  for (const operation of api.operations) {
    const { title, method } = operation;
    const path = resources.pathOf(operation);
    if (!allowed.has(path)) {
      const foreign = await api.target.send(path, { method: FOREIGN_METHOD, key: api.key });
      allowed.set(path, `${foreign.status} ${String(foreign.headers.allow)}`);
    }
    const [status, ...methods] = (allowed.get(path) ?? '').split(/,? /);
    if (status !== '405' || !methods.includes(method)) {
      api.note(title, `responds ${status} to the method ${FOREIGN_METHOD}, and must respond 405 with Allow`);
    }
    if (method !== 'GET' || !api.may(operation)) continue;
    const [get, head] = [
      await api.send(operation, { path }),
      await api.send(operation, { path, method: 'HEAD' }),
    ];
    if (get.status !== head.status) api.note(title, `responds ${get.status}, and ${head.status} to HEAD`);
  }
}

/** Without keys of other scopes only a scope that the key itself lacks is checked. */
async function checkScope(api: Api, operation: Operation, resources: Resources): Promise<void> {
  const { title, object, scopes: listed } = operation;
  const path = resources.pathOf(operation);
  const { scopes: all } = api.target;
  const attempt = async (key: string) => api.send(operation, { path, key, body: bodyOf(operation) });
  if (!all) {
    if (api.may(operation)) return;
    const response = await attempt(api.key);
    if (response.status === 403 && codeOf(response) === 'insufficient_scope') return;
    api.note(
      title,
      `responds ${response.status} to a key without the scope ${listed.join(' or ')}, and must respond 403`,
    );
    return;
  }
  if (listed.length === 0) {
    for (const scope of all.slice(0, 2))
      await requireAdmitted(api, operation, path, scope, 'x-required-scopes is empty');
    return;
  }
  // The rejection of a key with another scope names those that are required.
  const others = all.filter((scope) => !listed.includes(scope));
  let scopes: string[] | undefined;
  for (const other of others.slice(0, 2)) {
    const { status, headers } = await attempt(await api.keyWith([other]));
    if (status === 403) scopes ??= /scope="([^"]+)"/.exec(headers['www-authenticate'] ?? '')?.[1]?.split(' ');
  }
  if (!scopes) {
    api.note(title, 'accepts a key without its scope. Declare the scope with @Operation');
    return;
  }
  const names = scopes.join(' or ');
  if (object.description?.includes(scopeSentence(scopes)) === false) {
    api.note(title, `requires the scope ${names}, and its description names another one or none`);
  }
  if (listed.join(' or ') !== names) {
    api.note(title, `requires the scope ${names}, and its ${REQUIRED} names another one or none`);
  }
  const { status } = await attempt(await api.keyWith(all.filter((scope) => !scopes.includes(scope))));
  if (status !== 403) {
    api.note(title, `responds ${status} to a key without the scope ${names}, and must respond 403`);
  }
  // Without a body a change gets an unknown id, so that it changes nothing.
  const isHarmless = operation.method === 'GET' || operation.body !== undefined;
  const harmless = isHarmless ? path : resources.pathOf(operation, UNKNOWN_IDS[0]);
  for (const scope of scopes.length > 1 ? scopes : []) {
    await requireAdmitted(api, operation, harmless, scope, 'description admits it');
  }
}

async function requireAdmitted(api: Api, operation: Operation, path: string, scope: string, cause: string) {
  const { status } = await api.send(operation, {
    path,
    key: await api.keyWith([scope]),
    body: bodyOf(operation),
  });
  if (status !== 403) return;
  api.note(operation.title, `responds 403 to a key with the scope ${scope}, and its ${cause}`);
}

/** A list decides what belongs to an account: what another account's list lacks, it may neither read nor change. */
async function checkOtherAccounts(api: Api, resources: Resources): Promise<void> {
  for (const operation of api.operations.filter(({ path }) => path.endsWith('}'))) {
    const list = api.document.listOf(parentOf(operation.path));
    if (!list) continue;
    const resource = (await resources.createAt(operation.path)) ?? resources.created.find(isAt(operation));
    const scopes = [list, operation].flatMap((both) => both.scopes.slice(0, 1));
    const key = await api.keyWith(scopes);
    if (!resource || !(await lists(api, list, resource)) || (await lists(api, list, resource, key))) continue;
    const { path } = resource;
    const body = operation.body && api.document.exampleOf(operation.body);
    const response = await api.send(operation, { path, key, body, what: 'a key of another account' });
    if (!isSuccess(response)) continue;
    const cause = 'Compare the account of the key in its statement';
    api.note(
      operation.title,
      `responds ${response.status} to a key of an account whose list lacks the resource. ${cause}`,
    );
  }
}

function isAt({ path }: Operation) {
  return ({ pattern }: Resource) => pattern === path;
}

/** True if the list has the resource; with `sort=-id` it is on the first page. */
async function lists(api: Api, list: Operation, resource: Resource, key = api.key): Promise<boolean> {
  const isSortable = list.parameters.some(({ name }) => name === 'sort');
  const path = `${parentOf(resource.path)}?limit=100${isSortable ? '&sort=-id' : ''}`;
  const items = jsonIn((await api.send(list, { path, key })).text);
  return (
    Array.isArray(items) &&
    isList(list) &&
    items.some((item) => String(valueAt(item, 'id')) === idOf(resource))
  );
}

async function checkLimit(api: Api, operation: Operation, resources: Resources): Promise<void> {
  const key = await api.target.newKey?.({ perMinute: 1 });
  const request = { path: resources.pathOf(operation), key, body: bodyOf(operation) };
  const statuses = [(await api.send(operation, request)).status];
  if (operation.object[UNCOUNTED]) {
    statuses.push((await api.target.send(NO_PATH, { key })).status);
    statuses.push((await api.send(operation, request)).status);
    if (statuses.includes(429)) {
      api.note(operation.title, `counts in a window, and its document has ${UNCOUNTED}`);
    }
    return;
  }
  const { status } = await api.send(operation, request);
  if (status === 429) return;
  api.note(operation.title, `responds ${status} after the last request of the minute, and must respond 429`);
}
