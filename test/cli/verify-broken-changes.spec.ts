import { entityTagOf } from '../../src/platform/http/entity-tag';
import type { Breakage, BrokenRequest, BrokenResponse } from './support/breaking-proxy';
import { startVerified, type Verified } from './support/verified';

const isPet = ({ path }: BrokenRequest) => /^\/v1\/pets\/\d+$/.test(path);
const isKey = ({ path }: BrokenRequest, { status }: BrokenResponse) => path === '/v1/key' && status === 200;
const isOrder = ({ path }: BrokenRequest) => /^\/v1\/store\/orders\/\d+$/.test(path);

/** Replaces the responses that are meant. */
function replace(
  isMeant: (request: BrokenRequest, response: BrokenResponse) => boolean,
  change: (response: BrokenResponse) => unknown,
): Breakage {
  return {
    response: (response, request) => {
      if (isMeant(request, response)) change(response);
    },
  };
}

/** Makes a response a 200 with this body and its entity tag. */
const succeed = (text: string) => (response: BrokenResponse) => {
  Object.assign(response, { status: 200, text });
  Object.assign(response.headers, {
    etag: entityTagOf(text),
    'cache-control': 'private, no-cache',
    'content-type': 'application/json',
  });
};

const PET = '{"id":1,"name":"Rex","categoryId":1,"status":"sold"}';
const TIME = '"2026-11-22T12:00:00.000Z"';
const ORDER = `{"id":1,"petId":1,"status":"approved","placedAt":${TIME},"updatedAt":${TIME}}`;

const CONFLICT = '{"code":"invalid_transition","message":"…","status":409}';

const OWN_KEY = 'GET /key answers 200 with the key, and the windows of its headers';
const BY_IDS = 'id and status together return only animals of both';
const BY_BOTH = 'categoryId and status together return only animals of both';
const NEWEST_FIRST = 'sort=-id returns the newest animals first';
const CURSORS = 'a cursor of another status or another sort answers 400';
const NOT_MODIFIED = 'GET with If-None-Match and the current ETag answers 304 without a body';
const NO_MEMBER = 'PATCH /pets/{petId} without a member answers 400';
const PRECONDITION = 'PATCH with If-Match and another ETag answers 412';
const RENAME =
  'PATCH /pets/{petId} with If-Match and the current ETag answers 200 and changes the given members';
const CHANGED = 'after a change, GET with If-None-Match and the earlier ETag answers 200';
const OPEN_ORDER = 'an animal with an open order keeps its status and cannot be removed';
const APPROVAL = 'PATCH /store/orders/{orderId} approves with the scope orders:manage only';
const CANCELLATION = 'PATCH /store/orders/{orderId} cancels, and answers 200 also when repeated';
const REMOVAL = 'DELETE /pets/{petId} answers 204, then GET answers 404';
const CACHE_CONTROL = 'every answer carries Cache-Control: private, no-cache on a 200 or 304 with an ETag';

type Row = [breakage: string, promises: string[], Breakage];

const KEY: Row[] = [
  [
    'other windows of the key than in its headers',
    [OWN_KEY],
    replace(isKey, (response) => (response.text = response.text.replace('"remaining":', '"remaining":1'))),
  ],
  [
    'a member of the key missing',
    [OWN_KEY],
    replace(isKey, (response) => (response.text = response.text.replace('"scopes"', '"permissions"'))),
  ],
];

const FILTERS: Row[] = [
  [
    'an id filter that reads only the first id',
    [BY_IDS, 'more than 100 times id answers 400'],
    { path: (path) => path.replaceAll(/&id=\d+/g, '') },
  ],
  ['a category filter that does nothing', [BY_BOTH], { path: (path) => path.replace(/categoryId=\d+&/, '') }],
  [
    'an id filter that ignores the others',
    [BY_IDS],
    { path: (path) => path.replace(/(id=\d+)&status=\w+/, '$1') },
  ],
  [
    'a sort that does nothing',
    [NEWEST_FIRST, CURSORS],
    { path: (path) => (path.includes('categoryId') ? path : path.replace('&sort=-id', '')) },
  ],
  [
    'a Link that loses the sort',
    [NEWEST_FIRST],
    {
      response: ({ headers }, { path }) => {
        const { link } = headers;
        if (path.includes('limit=2&sort')) headers['link'] = String(link).replace('&sort=-id', '');
      },
    },
  ],
  [
    'a cursor that any list accepts',
    [CURSORS],
    replace(({ path }, { status }) => status === 400 && /cursor=(?!invalid)/.test(path), succeed('[]')),
  ],
];

const COMPARISONS: Row[] = [
  [
    'If-None-Match that does nothing',
    [NOT_MODIFIED],
    { headers: (headers) => delete headers['if-none-match'] },
  ],
  [
    'a cache that does not see a change',
    [CHANGED],
    {
      response: (response, { method, path }) => {
        if (method === 'GET' && response.text.includes('Renamed') && !path.includes('?'))
          Object.assign(response, { status: 304, text: '' });
      },
    },
  ],
  ['If-Match that does nothing', [PRECONDITION], { headers: (headers) => delete headers['if-match'] }],
  [
    'a change without a member that is accepted',
    [NO_MEMBER],
    replace(
      (request, { status }) => request.method === 'PATCH' && isPet(request) && status === 400,
      succeed(PET),
    ),
  ],
  [
    'a change that resets the other members',
    [RENAME],
    replace(
      (request, { status }) => request.method === 'PATCH' && isPet(request) && status === 200,
      (response) => (response.text = response.text.replace(/"status":"\w+"/, '"status":"pending"')),
    ),
  ],
  [
    'no-store on a page with an ETag',
    [CACHE_CONTROL],
    { response: ({ headers }) => (headers['cache-control'] = 'no-store') },
  ],
];

const ORDERS: Row[] = [
  [
    'an animal with an open order whose status can change',
    [OPEN_ORDER],
    replace(({ method }, { text }) => method === 'PATCH' && /pet_has_open_order/.test(text), succeed(PET)),
  ],
  [
    'a status that the order has is a conflict',
    [CANCELLATION],
    (() => {
      let cancelled = 0;
      return replace(
        (request, { text }) => isOrder(request) && /"cancelled"/.test(text) && (cancelled += 1) === 2,
        (response) => {
          Object.assign(response, { status: 409, text: CONFLICT });
          response.headers['cache-control'] = 'no-store';
        },
      );
    })(),
  ],
  [
    'staff that is not told the account',
    [APPROVAL],
    replace(
      ({ method, path }) => method === 'POST' && path === '/v1/store/orders',
      (response) => (response.text = response.text.replace(/,"account":"[^"]*"/, '')),
    ),
  ],
];

const REMOVALS: Row[] = [
  [
    'a removed animal that is still found',
    [REMOVAL],
    (() => {
      let isRemoved = false;
      return replace((request) => {
        isRemoved ||= request.method === 'DELETE' && isPet(request);
        return isRemoved && request.method === 'GET' && isPet(request);
      }, succeed(PET));
    })(),
  ],
  [
    'a removal with another status',
    [REMOVAL],
    replace(({ method }, { status }) => method === 'DELETE' && status === 204, succeed(PET)),
  ],
];

describe('cli verify of a deployment that breaks promises about the key, filters, changes and orders', () => {
  let verified: Verified;
  beforeAll(async () => {
    verified = await startVerified();
  });
  beforeEach(() => verified.syncClock());
  afterAll(() => verified.close());

  async function expectBroken(key: string, promises: readonly string[], breakage: Breakage) {
    const { status, broken } = await verified.run(['--base-url', verified.proxy.url, '--key', key], breakage);
    expect(broken).toEqual(promises.map((promise) => expect.stringContaining(promise)));
    for (const line of broken) expect(line).toMatch(/: .*expected .*, got \S/);
    expect(status).toBe(1);
  }

  it.each([...KEY, ...FILTERS, ...COMPARISONS, ...ORDERS, ...REMOVALS])(
    'exits with 1 and names the broken promises: %s',
    async (_, promises, breakage) => {
      await expectBroken(await verified.createKey(), promises, breakage);
    },
  );

  it.each<Row>([
    [
      'a buyer that may approve',
      [APPROVAL],
      replace((request, { status }) => isOrder(request) && status === 403, succeed(ORDER)),
    ],
    [
      'another error than insufficient_scope for a buyer that approves',
      [APPROVAL],
      replace(
        (request, { status }) => isOrder(request) && status === 403,
        (response) => (response.text = response.text.replace('insufficient_scope', 'forbidden')),
      ),
    ],
    [
      'the successor of getPet without the id',
      ['GET /pets/{petId} announces its removal'],
      replace(
        ({ path }) => path.startsWith('/v1/pets/'),
        ({ headers }) => (headers['link'] = String(headers['link']).replace(/\?id=\d+/, '?status=available')),
      ),
    ],
  ])("exits with 1 and names the broken promises with a buyer's key: %s", async (_, promises, breakage) => {
    await expectBroken(await verified.createBuyerKey(), promises, breakage);
  });
});
