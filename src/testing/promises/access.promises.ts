import { REQUIRED_SCOPES, scopeSentence } from '../../platform/api-docs/required-scopes';
import { UNCOUNTED } from '../../platform/api-docs/uncounted.decorator';
import { type Api, codeOf, isSuccess } from '../api';
import type { TestResponse } from '../http-client';
import { idOf as lastSegment, parentOf, type Resource, UNKNOWN_IDS } from '../resources';
import { type ApiPromise, OperationUnderTest } from './operation-under-test';
import { idOf, newestOf } from './page.promises';

/** No operation has this method. */
const FOREIGN_METHOD = 'PROPFIND';
const NO_PATH = '/nothing-here';
/** No operation requires this scope. */
const NO_SCOPE = 'nothing:read';

/** Keys, scopes, methods and addresses of each operation. */
export const accessPromises: readonly ApiPromise[] = [
  { title: 'a request without a valid key gets 401, also with a body that is not JSON', check: checkKeys },
  { title: 'a key without the scope of an operation gets 403', check: checkScope },
  {
    title: 'an unknown address gets 404, an unknown method 405 with Allow',
    checkStore: checkAddress,
    check: checkMethods,
  },
  {
    title: "a resource of an account's own list is unknown to other accounts",
    needs: 'test store',
    appliesTo: ({ operation }) => operation.path.endsWith('}'),
    check: checkOtherAccounts,
  },
];

/** The limit of the plan. It comes late, because it removes resources by DELETE. */
export const limitPromise: ApiPromise = {
  title: 'an operation is limited by the plan unless its document says otherwise',
  needs: 'test store',
  check: checkLimit,
};

async function checkKeys(tested: OperationUnderTest): Promise<void> {
  const attempts = [
    ['a request without a key', {}, '401 missing_api_key', /^Bearer\b/i],
    [
      'a wrong key',
      { authorization: 'Bearer wrong' },
      '401 invalid_api_key',
      /^Bearer\b.*error="invalid_token"/i,
    ],
    ['another scheme', { authorization: 'Basic dTpw' }, '401 missing_api_key', /^Bearer\b/i],
  ] as const;
  // All operations read the scheme in the same way.
  const isFirst = tested.operation === tested.api.operations[0];
  for (const [what, headers, wanted, challenge] of attempts.slice(0, isFirst ? 3 : 2)) {
    const response = await tested.sendHarmless({ key: undefined, headers, what });
    const isRejected = tested.requires(response, `to ${what}`, wanted);
    if (!isRejected || challenge.test(String(response.headers['www-authenticate']))) continue;
    tested.note(`responds 401 to ${what} with a WWW-Authenticate that does not match ${challenge}`);
  }
}

async function checkAddress(api: Api): Promise<void> {
  const unknown = await api.target.send(NO_PATH, { key: api.key });
  if (unknown.status === 404 && codeOf(unknown) === 'route_not_found') return;
  api.note(`GET /v1${NO_PATH}`, `responds ${unknown.status}, and must respond 404 route_not_found`);
}

async function checkMethods(tested: OperationUnderTest): Promise<void> {
  const { api, path, operation, isAllowed } = tested;
  const ofPath = api.operations.filter((each) => each.path === operation.path);
  if (operation === ofPath[0]) {
    const { status, headers } = await api.target.send(path, { method: FOREIGN_METHOD, key: api.key });
    const allowed = String(headers.allow).split(/,? /);
    for (const { title, method } of ofPath) {
      if (status === 405 && allowed.includes(method)) continue;
      api.note(title, `responds ${status} to the method ${FOREIGN_METHOD}, and must respond 405 with Allow`);
    }
  }
  if (operation.method !== 'GET' || !isAllowed) return;
  const [get, head] = [await tested.send(), await tested.send({ method: 'HEAD' })];
  if (get.status !== head.status) tested.note(`responds ${get.status}, and ${head.status} to HEAD`);
}

async function checkScope(tested: OperationUnderTest): Promise<void> {
  const { api, operation, path } = tested;
  const { object, scopes: listed } = operation;
  const requireRejected = (response: TestResponse, scopes: readonly string[]) =>
    tested.requires(response, `to a key without the scope ${scopes.join(' or ')}`, '403 insufficient_scope');
  const all = api.target.scopes;
  if (!all) {
    // Without keys of other scopes only a scope that the key itself lacks is checked.
    if (!tested.isAllowed) requireRejected(await tested.sendHarmless(), listed);
    return;
  }
  const without = await tested.sendHarmless({ key: await api.keyWith([NO_SCOPE]) });
  const required = /scope="([^"]+)"/.exec(without.headers['www-authenticate'] ?? '')?.[1]?.split(' ') ?? [];
  // Without a body a change gets an unknown id, so that it changes nothing.
  const isHarmless = operation.method === 'GET' || operation.body !== undefined;
  const harmless = isHarmless ? path : tested.resources.pathOf(operation, UNKNOWN_IDS[0]);
  const requireAdmitted = async (scope: string, cause: string) => {
    const { status } = await tested.sendHarmless({ path: harmless, key: await api.keyWith([scope]) });
    if (status === 403) tested.note(`responds 403 to a key with the scope ${scope}, and its ${cause}`);
  };
  if (listed.length === 0) {
    for (const scope of all.slice(0, 2)) await requireAdmitted(scope, `${REQUIRED_SCOPES} is empty`);
    return;
  }
  if (required.length === 0) {
    tested.note('accepts a key without its scope. Declare the scope with @Operation');
    return;
  }
  const names = required.join(' or ');
  if (object.description?.includes(scopeSentence(required)) === false) {
    tested.note(`requires the scope ${names}, and its description names another one or none`);
  }
  if (listed.join(' or ') !== names) {
    tested.note(`requires the scope ${names}, and its ${REQUIRED_SCOPES} names another one or none`);
  }
  const others = all.filter((scope) => !required.includes(scope));
  requireRejected(await tested.sendHarmless({ key: await api.keyWith(others) }), required);
  for (const scope of required.length > 1 ? required : []) {
    await requireAdmitted(scope, 'description admits it');
  }
}

/** A list decides what belongs to an account: what another account's list lacks, it may neither read nor change. */
async function checkOtherAccounts(tested: OperationUnderTest): Promise<void> {
  const { api, document, operation, resources } = tested;
  const list = document.listOf(parentOf(operation.path));
  if (!list) return;
  const isAt = ({ pattern }: Resource) => pattern === operation.path;
  const resource = (await resources.createAt(operation.path)) ?? resources.created.find(isAt);
  if (!resource) return;
  const key = await api.keyWith([list, operation].flatMap((both) => both.scopes.slice(0, 1)));
  const listing = new OperationUnderTest(api, resources, list);
  const isListed = async (as: string) => {
    const items = await newestOf(listing, parentOf(resource.path), as);
    return items.some((item) => String(idOf(item)) === lastSegment(resource));
  };
  if (!(await isListed(api.key)) || (await isListed(key))) return;
  const body = operation.body && document.exampleOf(operation.body);
  const response = await tested.send({ path: resource.path, key, body, what: 'a key of another account' });
  if (!isSuccess(response)) return;
  const cause = 'Compare the account of the key in its statement';
  tested.note(`responds ${response.status} to a key of an account whose list lacks the resource. ${cause}`);
}

async function checkLimit(tested: OperationUnderTest): Promise<void> {
  const { api, operation } = tested;
  const request = { path: tested.path, key: await api.target.newKey?.({ perMinute: 1 }) };
  const first = await tested.sendHarmless(request);
  if (operation.object[UNCOUNTED]) {
    const others = [await api.target.send(NO_PATH, request), await tested.sendHarmless(request)];
    if ([first, ...others].some(({ status }) => status === 429)) {
      tested.note(`counts in a window, and its document has ${UNCOUNTED}`);
    }
    return;
  }
  const second = await tested.sendHarmless(request);
  tested.requires(second, 'after the last request of the minute', '429');
}
