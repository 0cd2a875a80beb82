import { entityTagOf } from '../../../src/platform/entity-tags/entity-tag';
import type { Breakage, BrokenRequest, BrokenResponse } from './breaking-proxy';

type IsMeant = (request: BrokenRequest, response: BrokenResponse) => boolean;

const PET = /^\/v1\/pets\/\d+$/;
const ORDER = /^\/v1\/store\/orders\/\d+$/;
const at = (method: string, path: RegExp) => (request: BrokenRequest) =>
  request.method === method && path.test(request.path);
const ADD_PET = at('POST', /^\/v1\/pets$/);
const LIST_PETS = at('GET', /^\/v1\/pets(\?|$)/);
const LIST_ORDERS = at('GET', /^\/v1\/store\/orders(\?|$)/);

/** Changes the responses that are meant. */
function change(
  isMeant: IsMeant,
  apply: (response: BrokenResponse, request: BrokenRequest) => unknown,
): Breakage {
  return {
    response: (response, request) => {
      if (isMeant(request, response)) apply(response, request);
    },
  };
}

const header = (isMeant: IsMeant, name: string, value?: string) =>
  change(isMeant, ({ headers }) => (headers[name] = value));
/** Changes a body, and its entity tag with it. */
const rewrite = (isMeant: IsMeant, apply: (text: string) => string) =>
  change(isMeant, (response) => {
    response.text = apply(response.text);
    if (response.headers['etag'] !== undefined) response.headers['etag'] = entityTagOf(response.text);
  });
const withStatus = (isMeant: IsMeant, status: number) =>
  change(isMeant, (response) => (response.status = status));
const status =
  (isMeant: (request: BrokenRequest) => boolean, wanted: number): IsMeant =>
  (request, response) =>
    isMeant(request) && response.status === wanted;
const withoutQuery = (isMeant: (request: BrokenRequest) => boolean, pattern: RegExp): Breakage => ({
  path: (path, method) => (isMeant({ method, path }) ? path.replace(pattern, '$1') : path),
});
const withoutHeader = (isMeant: (request: BrokenRequest) => boolean, name: string): Breakage => ({
  headers: (headers, request) => {
    if (isMeant(request)) delete headers[name];
  },
});

/** Breaks a deployment in several ways. */
export function combined(breakages: readonly Breakage[]): Breakage {
  return {
    path: (path, method) => breakages.reduce((now, each) => each.path?.(now, method) ?? now, path),
    headers: (headers, request) => {
      for (const each of breakages) each.headers?.(headers, request);
    },
    response: (response, request) => {
      for (const each of breakages) each.response?.(response, request);
    },
  };
}

/** By name: the sentence of verify, and how the deployment breaks its promise. */
type Breakages = Readonly<Record<string, readonly [sentence: RegExp, breakage: Breakage]>>;

let removed: string | undefined;

/**
 * Ways to break a deployment, in groups of which none hides another: each promise that is checked otherwise than in a
 * test store, and one difference from the document of each kind.
 */
export const BREAKAGES: Readonly<Record<string, Breakages>> = {
  'most breakages': {
    'a remaining in words': [
      /GET \/v1\/key responds.*x-ratelimit-remaining must/,
      header(at('GET', /key/), 'x-ratelimit-remaining', '59 of 60'),
    ],
    '405 without Allow': [
      /GET \/v1\/pets responds 405 to the method PROPFIND, and must respond 405 with Allow/,
      header(at('PROPFIND', /^\/v1\/pets$/), 'allow'),
    ],
    'an id as a text': [
      /GET \/v1\/pets\/\{petId\} responds 200.*body \/id must be integer/,
      rewrite(status(at('GET', PET), 200), (text) => text.replace(/"id":(\d+)/, '"id":"$1"')),
    ],
    'an int64 that went through a double': [
      /POST \/v1\/pets responds with categoryId = 9007199254740992/,
      rewrite(status(ADD_PET, 201), (text) => text.replace('9007199254740993', '9007199254740992')),
    ],
    'another code': [
      /DELETE \/v1\/pets\/\{petId\} responds 401.*must respond 401 missing_api_key/,
      rewrite(status(at('DELETE', PET), 401), (text) => text.replace('missing_api_key', 'unauthorized')),
    ],
    'a filter that is ignored': [
      /GET \/v1\/pets has an item with status = .*Filter by it/,
      withoutQuery(LIST_PETS, /status=\w+&?()/),
    ],
    'a sort that is ignored': [
      /GET \/v1\/pets is not in descending order of id/,
      withoutQuery(LIST_PETS, /sort=-id&?()/),
    ],
    'If-None-Match that is ignored': [
      /GET \/v1\/pets\/\{petId\} responds 200 to the ETag of its last response/,
      withoutHeader(at('GET', PET), 'if-none-match'),
    ],
    'If-Match that is ignored': [
      /PATCH \/v1\/pets\/\{petId\} responds 200 to an If-Match of another state/,
      withoutHeader(at('PATCH', PET), 'if-match'),
    ],
    'Idempotency-Key that is ignored': [
      /POST \/v1\/pets does not replay the response of an Idempotency-Key/,
      withoutHeader(ADD_PET, 'idempotency-key'),
    ],
    'a request without a key that is accepted': [
      /GET \/v1\/key responds 200 to a request without a key/,
      withStatus(status(at('GET', /key/), 401), 200),
    ],
    'an unknown id that is found': [
      /GET \/v1\/store\/orders\/\{orderId\} responds 200 if orderId is unknown/,
      withStatus(status(at('GET', /9223372036854775807/), 404), 200),
    ],
    'a Location that leads nowhere': [
      /POST \/v1\/items responds with the Location \/v1\/items\/\d+0, where GET responds/,
      change(
        status(at('POST', /items$/), 201),
        ({ headers }) => (headers['location'] = `${String(headers['location'])}0`),
      ),
    ],
    'a change that resets the other members': [
      /PATCH \/v1\/pets\/\{petId\} responds with categoryId = 1 to /,
      rewrite(status(at('PATCH', PET), 200), (text) => text.replace(/"categoryId":-?\d+/, '"categoryId":1')),
    ],
    'a Link that is lost': [
      /GET \/v1\/pets has other items on its pages, followed by Link/,
      header(LIST_PETS, 'link'),
    ],
    'bad JSON that is another error': [
      /POST \/v1\/store\/orders responds 400 bad_request to body = \{/,
      rewrite(at('POST', /orders$/), (text) => text.replace('malformed_json', 'bad_request')),
    ],
    'a cursor of another list that is accepted': [
      /GET \/v1\/pets responds 200 to a cursor of another list/,
      change(
        (request, { status: got }) => LIST_PETS(request) && got === 400 && request.path.includes('cursor='),
        (response) => Object.assign(response, { status: 200, text: '[]' }),
      ),
    ],
    'a value that is not validated': [
      /POST \/v1\/pets accepts status = .*must be equal to one of/,
      change(
        (request, { status: got, text }) => ADD_PET(request) && got === 400 && text.includes('status'),
        (response) => (response.status = 201),
      ),
    ],
    'a cursor that is ignored': [
      /GET \/v1\/items has other items on its pages/,
      withoutQuery(at('GET', /^\/v1\/items(\?|$)/), /&cursor=[\w-]+()/),
    ],
    'a name that is trimmed': [
      /POST \/v1\/pets responds with name = /,
      rewrite(status(ADD_PET, 201), (text) => text.replace('"name":" ', '"name":"')),
    ],
  },
  'breakages that others would hide': {
    'a limit that is missing from errors': [
      /POST \/v1\/pets responds 400.*header x-ratelimit-remaining must be there/,
      header(status(ADD_PET, 400), 'x-ratelimit-remaining'),
    ],
    'a limit that is ignored': [
      /GET \/v1\/store\/orders has \d+ items on a page with limit=2/,
      withoutQuery(LIST_ORDERS, /limit=\d+&?()/),
    ],
    'a failure': [
      /PATCH \/v1\/store\/orders\/\{orderId\} responds 500/,
      withStatus(status(at('PATCH', ORDER), 400), 500),
    ],
    'a page out of order': [
      /GET \/v1\/store\/orders is not in ascending order of id/,
      rewrite(status(LIST_ORDERS, 200), (text) => text.replace(/^\[(\{.*?\}),(\{.*?\})/, '[$2,$1')),
    ],
    'a filter by id that reads the first': [
      /GET \/v1\/pets lacks the item \d+ for id = \[/,
      withoutQuery(LIST_PETS, /(id=\d+)&id=\d+/),
    ],
    'a removed resource that is still found': [
      /DELETE \/v1\/pets\/\{petId\} responds 204, and GET then responds 200/,
      change(
        (request, { status: got }) => {
          if (at('DELETE', PET)(request) && got === 204) removed = request.path;
          return request.method === 'GET' && request.path === removed;
        },
        (response) =>
          Object.assign(response, {
            status: 200,
            text: '{"id":1,"name":"Rex","categoryId":1,"status":"sold"}',
          }),
      ),
    ],
    'a Location of others': [
      /POST \/v1\/pets responds with the Location \/v1\/pets\/1, where GET responds with another id/,
      header(status(ADD_PET, 201), 'location', '/v1/pets/1'),
    ],
  },
};
