import { REQUIRED_SCOPES, scopeSentence } from '../../platform/api-docs/required-scopes';
import { UNCOUNTED } from '../../platform/routes/route-facts';
import { codeOf, isSuccess } from '../api';
import { withQuery } from '../api-document';
import { jsonIn, textOf, valueAt } from '../json';
import { idOf as lastSegment, parentOf } from '../resources';
import type { Promises } from './operation-under-test';
import { idOf, newestOf } from './page.promises';

/** No operation has this method. */
const FOREIGN_METHOD = 'PROPFIND';
const NO_PATH = '/nothing-here';
/** No operation requires this scope. */
const NO_SCOPE = 'nothing:read';

/** Keys, scopes, methods and addresses of each operation. */
export const accessPromises: Promises = {
  async 'a request without a valid key gets 401, also with a body that is not JSON'(tested) {
    for (const [key, what, code] of [
      [undefined, 'a request without a key', 'missing_api_key'],
      ['wrong', 'a wrong key', 'invalid_api_key'],
    ] as const) {
      tested.requires(await tested.sendHarmless({ key, what }), `to ${what}`, `401 ${code}`);
    }
  },

  async 'a key without the scope of an operation gets 403'(tested) {
    const { api, operation } = tested;
    const { description, scopes: listed } = operation;
    const all = api.store.scopes;
    const sendAs = async (scope: string) =>
      tested.sendHarmless({ key: await api.store.key({ scopes: [scope] }) });
    const rejected = await sendAs(NO_SCOPE);
    const cause = `to a key without the scope ${listed.join(' or ')}`;
    if (listed.length > 0 && !tested.requires(rejected, cause, '403 insufficient_scope')) return;
    const [, required = ''] = /scope="([^"]+)"/.exec(rejected.headers['www-authenticate'] ?? '') ?? [];
    const scopes = required.split(' ');
    const names = scopes.join(' or ');
    const isDescribed = description?.includes(scopeSentence(scopes)) !== false;
    const wrong = [isDescribed ? [] : 'description', listed.join(' or ') === names ? [] : REQUIRED_SCOPES];
    for (const place of listed.length > 0 ? wrong.flat() : []) {
      tested.note(`requires the scope ${names}, and its ${place} names another one or none`);
    }
    const reason = listed.length > 0 ? 'description admits it' : `${REQUIRED_SCOPES} is empty`;
    for (const scope of listed.length > 0 ? scopes : all.slice(0, 2)) {
      const { status } = await sendAs(scope);
      if (status === 403) tested.note(`responds 403 to a key with the scope ${scope}, and its ${reason}`);
    }
  },

  async 'an unknown address gets 404, an unknown method 405 with Allow'({ api, operation, path }) {
    const ofPath = api.operations.filter((each) => each.path === operation.path);
    if (operation !== ofPath[0]) return;
    const { status, headers } = await api.request(path, { method: FOREIGN_METHOD, key: api.key });
    const allowed = String(headers.allow).split(/,? /);
    for (const { title, method } of ofPath) {
      if (status === 405 && allowed.includes(method)) continue;
      api.note(title, `responds ${status} to the method ${FOREIGN_METHOD}, and must respond 405 with Allow`);
    }
    if (operation !== api.operations[0]) return;
    const unknown = await api.request(NO_PATH);
    if (codeOf(unknown) === 'route_not_found') return;
    api.note(`GET /v1${NO_PATH}`, `responds ${unknown.status}, and must respond 404 route_not_found`);
  },
};

/** It has no resources, also if tests have used the store. A mistake is likely to name the first account. */
export const FIRST_ACCOUNT = 'brokenPromises: no resources';

/** Checks with keys of other accounts and of a small plan. */
export const accountPromises: Promises = {
  // A list decides what belongs to an account: what another account's list lacks, it may neither read nor change.
  async "a resource of an account's own list is unknown to other accounts"(tested) {
    const { api, document, operation, resources } = tested;
    if (!operation.path.endsWith('}')) return;
    const list = tested.listAt(parentOf(operation.path));
    const existing = resources.created.find(({ pattern }) => pattern === operation.path);
    const resource = (await resources.createAt(operation.path)) ?? existing;
    if (!list || !resource) return;
    const needed = [list.operation, operation].flatMap((both) => both.scopes.slice(0, 1));
    const key = await api.store.key({ scopes: needed });
    const isListed = async (as: string) => {
      const items = await newestOf(list, parentOf(resource.path), as);
      return items.some((item) => String(idOf(item)) === lastSegment(resource));
    };
    if (!(await isListed(api.key)) || (await isListed(key))) return;
    const body = operation.body && document.exampleOf(operation.body);
    const response = await tested.send({ path: resource.path, key, body, what: 'a key of another account' });
    const whose = 'a key of an account whose list lacks the resource';
    const cause = 'Compare the account of the key in its statement';
    if (isSuccess(response)) tested.note(`responds ${response.status} to ${whose}. ${cause}`);
    const event = document.follow({ $ref: `${operation.success?.$ref}Event` });
    const types = valueAt(event, 'properties', 'type', 'enum');
    if (types === undefined) return;
    // With this scope the account would have the orders of others, too.
    const scopes = api.store.scopes.filter((scope) => scope !== 'orders:manage');
    const first = await api.store.key({ account: FIRST_ACCOUNT, scopes });
    const { text } = await api.request(withQuery('/events', 'type', types), { key: first });
    const type = valueAt(jsonIn(text), 0, 'type');
    if (type === undefined) return;
    api.note(`The event ${textOf(type)}`, `is sent to ${whose}. Give Events.add the account of the resource`);
  },

  async 'an operation is limited by the plan unless its document says otherwise'(tested) {
    const { api, operation } = tested;
    const isUncounted = operation[UNCOUNTED] === true;
    const key = await api.store.key({ perMinute: 1 });
    await tested.sendHarmless({ key });
    if (isUncounted) await api.request(NO_PATH, { key });
    const last = await tested.sendHarmless({ key });
    if (!isUncounted) tested.requires(last, 'after the last request of the minute', '429');
    else if (last.status === 429) tested.note(`counts in a window, and its document has ${UNCOUNTED}`);
  },
};
