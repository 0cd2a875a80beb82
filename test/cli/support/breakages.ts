import {
  at,
  change,
  header,
  ADD_PET,
  LIST_ORDERS,
  LIST_PETS,
  ORDER,
  PET,
  rewrite,
  status,
  withoutHeader,
  withoutQuery,
  withStatus,
} from './breakage';
import type { Breakage } from './breaking-proxy';

/** By name: the sentence of verify, and how the deployment breaks its promise. */
type Breakages = Readonly<Record<string, readonly [sentence: RegExp, breakage: Breakage]>>;

let removed: string | undefined;

/** Ways to break a deployment, in groups of which none hides another. */
export const BREAKAGES: Readonly<Record<string, Breakages>> = {
  'most breakages': {
    'a limit that is missing': [
      /GET \/v1\/pets responds 200.*header x-ratelimit-limit must be there/,
      header(LIST_PETS, 'x-ratelimit-limit'),
    ],
    'a remaining in words': [
      /GET \/v1\/key responds.*x-ratelimit-remaining must/,
      header(at('GET', /key/), 'x-ratelimit-remaining', '59 of 60'),
    ],
    'a request id that is missing': [
      /PATCH \/v1\/pets\/\{petId\} responds.*x-request-id must be there/,
      header(at('PATCH', PET), 'x-request-id'),
    ],
    'sniffing that is not forbidden': [
      /DELETE \/v1\/pets\/\{petId\} responds.*x-content-type-options must be there/,
      header(at('DELETE', PET), 'x-content-type-options'),
    ],
    'a page that must not be stored': [
      /GET \/v1\/pets\/\{petId\} responds 200.*cache-control must be .*\(private, no-cache\)/,
      header(status(at('GET', PET), 200), 'cache-control', 'no-store'),
    ],
    'another media type': [
      /PATCH \/v1\/store\/orders\/\{orderId\} responds.*content-type must be application\/json/,
      header(at('PATCH', ORDER), 'content-type', 'text/plain'),
    ],
    'no challenge': [
      /GET \/v1\/store\/orders\/\{orderId\} responds 401.*www-authenticate/i,
      header(status(at('GET', /^\/v1\/store\/orders\/\d+/), 401), 'www-authenticate'),
    ],
    '405 without Allow': [
      /GET \/v1\/pets responds 405 to the method PROPFIND, and must respond 405 with Allow/,
      header(at('PROPFIND', /^\/v1\/pets$/), 'allow'),
    ],
    'an envelope': [
      /GET \/v1\/store\/orders responds 200.*body +must be array/,
      rewrite(status(LIST_ORDERS, 200), (text) => `{"items":${text}}`),
    ],
    'an id as a text': [
      /GET \/v1\/pets\/\{petId\} responds 200.*body \/id must be integer/,
      rewrite(status(at('GET', PET), 200), (text) => text.replace(/"id":(\d+)/, '"id":"$1"')),
    ],
    'an int64 that went through a double': [
      /POST \/v1\/pets responds with categoryId = 9007199254740992/,
      rewrite(status(ADD_PET, 201), (text) => text.replace('9007199254740993', '9007199254740992')),
    ],
    'an error with another status': [
      /PATCH \/v1\/store\/orders\/\{orderId\} responds 4\d\d.*body \/status must be 4\d\d/,
      rewrite(
        (request, { status: got }) => ORDER.test(request.path) && request.method === 'PATCH' && got >= 400,
        (text) => text.replace(/"status":\d+/, '"status":418'),
      ),
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
    'a removal with another status': [
      /DELETE \/v1\/items\/\{itemId\} responds 200.*status must be one of/,
      withStatus(status(at('DELETE', /^\/v1\/items\/\d+$/), 204), 200),
    ],
    'a tag that does not match': [
      /GET \/v1\/store\/orders\/\{orderId\} has an ETag that is not the hash of its body/,
      header(status(at('GET', ORDER), 200), 'etag', `"${'A'.repeat(43)}"`),
    ],
    'a Link that is lost': [
      /GET \/v1\/pets has other items on its pages, followed by Link/,
      header(LIST_PETS, 'link'),
    ],
    'bad JSON that is another error': [
      /POST \/v1\/store\/orders responds 400 bad_request to body = \{/,
      rewrite(at('POST', /orders$/), (text) => text.replace('malformed_json', 'bad_request')),
    ],
    'a creation with another status': [
      /POST \/v1\/store\/orders responds 200.*status must be one of/,
      withStatus(status(at('POST', /orders$/), 201), 200),
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
    'an error without status': [
      /GET \/v1\/store\/orders\/\{orderId\} responds 404.*body.*status/,
      rewrite(status(at('GET', ORDER), 404), (text) => text.replace(/,"status":\d+/, '')),
    ],
    'problem details that name no field': [
      /POST \/v1\/pets responds 400 .*body \/errors must NOT have fewer than 1 items/,
      rewrite(ADD_PET, (text) => text.replace(/"errors":\[.*\]/, '"errors":[]')),
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
