import { createStore } from '../../src/app/store';
import type { DefinedError } from '../../src/api/errors/api-error';
import type { Extension } from '../../src/api/extension/extension';
import { OpenApiDocument } from '../../src/api/openapi/document';
import { ApiDocument } from '../../src/testing/api-document';
import { filesOf, read } from '../docs/documents';
import { startApp, type TestApp } from '../support/app';
import { readCommittedDocument } from '../support/committed-document';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { holdTimers } from '../support/timers';

const DEFINED_SCOPES = createStore().scopes;
const document = new ApiDocument(readCommittedDocument());

/** Members of the body (undefined removes one), a whole body or a query, and the beginning of the message. */
type Row = readonly [operations: string, given: Readonly<Record<string, unknown>> | string, message: string];

/** A row for each value of a member. */
const each = (
  operations: string,
  member: string,
  values: readonly unknown[],
  message: string,
): readonly Row[] => values.map((value) => [operations, { [member]: value }, message]);
/** A row for each query. */
const queries = (operation: string, values: readonly string[], message: string): readonly Row[] =>
  values.map((query) => [operation, query, message]);

const NAME = 'name must be a string of 1 to 255 characters, at least one of them not white space';
const ITEMS = 'items must be a list of 1 to 100 JSON objects';
const RANGE = 'from must not be later than to, and at most 399 days before it';
const AT_LEAST_ONE = 'The body must have at least one of';
const MANY = Object.fromEntries(Array.from({ length: 1_990 }, (_, at) => [`m${at}`, 1]));
const HUNDRED = Array.from({ length: 100 }, (_, at) => aNewPet(at === 7 ? { name: '', status: 'lost' } : {}));
/** Texts that look like others, or change the text around them. */
const ODD = Array.from('\u200b\u202e\u2066\u00ad\ufeff\u009b\u2028').flatMap((odd) => [
  `a${odd}b`,
  `${odd}b`,
]);

const ROWS: readonly Row[] = [
  [
    'createPet',
    { name: undefined, categoryId: undefined, status: 'lost' },
    'name is missing; categoryId is missing; status must be one of available, pending, sold.',
  ],
  ...each('createPet updatePet', 'name', [' ', 'x'.repeat(256), MANY], NAME),
  [
    'createPet updatePet',
    '{"categoryId":9223372036854775808,"name":"Rex"}',
    'categoryId must be an integer from -9223372036854775808 to 9223372036854775807.',
  ],
  ['createPet updatePet placeOrder rotateKey', 'null', 'The body must be a JSON object.'],
  ['updatePet', { name: undefined, color: 'red' }, `${AT_LEAST_ONE} name, categoryId, status.`],
  ['updatePet', '', 'The body must be a JSON object.'],
  ...each('createPets', 'items', [[], [...HUNDRED, aNewPet()]], `${ITEMS}.`),
  [
    'createPets',
    { items: HUNDRED.with(99, { name: 'Rex' }) },
    `items.7.${NAME}, and no control characters; items.7.status must be one of available, pending, sold; items.99.categoryId is missing.`,
  ],
  [
    'createPets',
    { items: [aNewPet(), null, 5, {}] },
    `${ITEMS}; items.1 must be a JSON object; items.2 must be a JSON object; items.3.name is missing; items.3.categoryId is missing.`,
  ],
  ['placeOrder', { petId: undefined }, 'petId is missing.'],
  ['placeOrder', { petId: '1' }, 'petId must be an integer'],
  ['updateOrder', { status: 'lost' }, 'status must be one of '],
  ['listOrders', 'petId=1.5', 'petId must be an integer'],
  ['listOrders', 'petId=1&petId=2', 'petId must be given once.'],
  ...each('createWebhook updateWebhook', 'url', ['http://shop.example'], 'url must be an https URL.'),
  ...each(
    'createWebhook updateWebhook',
    'url',
    ['127.0.0.1', 'localhost:8443/', 'shop.localhost.', '[::1]/'].map((host) => `https://${host}`),
    'url must have a known host with public addresses only.',
  ),
  ...each(
    'createWebhook updateWebhook',
    'url',
    [
      'https://user@shop.example',
      'https://user:word@shop.example/',
      'https://shop.example/a b',
      'https://shop.example:99999',
      'https://müller.example',
      'https://shop.example/ü',
      'HTTPS://shop.example',
      'ftp://shop.example',
      `https://shop.example/${'a'.repeat(2_048)}`,
    ],
    'url must be an https URL of at most 2048 ASCII characters without user name and password: https:// in lower case, the host in Punycode (xn--…), the path percent-encoded.',
  ),
  ...each('createWebhook updateWebhook', 'types', [['pet.lost'], []], 'types must be one or more of '),
  ['updateWebhook', '{}', `${AT_LEAST_ONE} url, types, status.`],
  ...each(
    'createAccount',
    'name',
    ['*', '.', '..', ' ', 'a\nb', ' a', 'a\u00a0', '\u3000a', 'x'.repeat(65), '🐈'.repeat(65), ...ODD],
    'name must be ',
  ),
  [
    'createAccount updateAccount',
    { plan: 'enterprise' },
    'perMinute must be given with the plan enterprise; perDay must be given with the plan enterprise.',
  ],
  [
    'createAccount updateAccount',
    { plan: 'enterprise', perMinute: null, perDay: 5 },
    'perMinute must be given with the plan enterprise.',
  ],
  ['createAccount updateAccount', { plan: 'pro', perDay: 5 }, 'perDay must be left out with the plan pro.'],
  ['createAccount', { plan: undefined, perDay: 5 }, 'perDay must be left out with the plan free.'],
  ...each(
    'createAccount updateAccount',
    'perMinute',
    [0, 1.5],
    'perMinute must be a whole number from 1 to ',
  ),
  ['updateAccount', '{}', `${AT_LEAST_ONE} disabled, plan, perMinute, perDay.`],
  ...each('createKey updateKey', 'label', ODD, 'label must be '),
  ...each('createKey updateKey', 'scopes', [[], ['pets:fly']], 'scopes must be '),
  ...each(
    'createKey updateKey',
    'addresses',
    [
      ...['10.0.0.0/33', '10.0.0.0/0', '10.0.0', 'fe80::1%eth0', 'x', '', '10.0.0.0/8/8'].map((one) => [one]),
      Array.from({ length: 21 }, (_, at) => `10.0.0.${at}`),
    ],
    'addresses must be a list of 0 to 20 different addresses or CIDR blocks such as 192.0.2.0/24.',
  ),
  ['updateKey', '{}', `${AT_LEAST_ONE} label, expiresAt, scopes, addresses.`],
  ['rotateKey rotateWebhook', { graceSeconds: -1 }, 'graceSeconds must be a whole number from 0 to '],
  ...queries('getUsage', ['from=2026-02-30', 'from=2026-11-1'], 'from must be a date such as 2026-11-21.'),
  ...queries('getUsage', ['to=yesterday'], 'to must be a date such as 2026-11-21.'),
  ...queries('getUsage', ['from=2026-11-02&to=2026-11-01', 'from=2025-01-01&to=2026-02-05'], RANGE),
];

const operationOf = (name: string) => document.operations.find(({ operationId }) => operationId === name)!;

const STORED = `SELECT ${['pets', 'store_orders', 'webhooks', 'accounts', 'audit_entries', 'event_log']
  .map((table) => `(SELECT md5(array_agg(t ORDER BY t)::text) FROM ${table} AS t) AS ${table}`)
  .join()}`;

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  // A delivery of the service's own timer would change a webhook.
  holdTimers();
  app = await startApp();
});
afterAll(() => jest.useRealTimers());

// Each request also checks the headers of its response, those of the rate limit included: openapi.json requires them.
describe('the Error body', () => {
  it('of each code of the document is expected by a spec', () => {
    const specs = filesOf('test/*.spec.ts').map(read).join('');
    const isExpected = ({ status, code }: DefinedError) => new RegExp(`${status}(, '| )${code}'`).test(specs);
    const codes = new OpenApiDocument(JSON.parse(readCommittedDocument())).codes();
    expect(codes.filter((error) => !isExpected(error))).toEqual([]);
  });

  it('404 key_not_found has code, message and status', async () =>
    expectError(await app.get('/v1/keys/9999'), 404, 'key_not_found'));

  // The commit fails, not the DELETE.
  it('409 pet_in_use is for an animal to which a table of another module refers', async () => {
    const { id } = (await app.post('/v1/pets', aNewPet())).json;
    await app.database.query(`CREATE TABLE visits AS SELECT ${id}::bigint AS pet_id`);
    await app.database.query(
      'ALTER TABLE visits ADD FOREIGN KEY (pet_id) REFERENCES pets DEFERRABLE INITIALLY DEFERRED',
    );
    expectError(await app.send('DELETE', `/v1/pets/${id}`), 409, 'pet_in_use');
  });

  it.each<[string, number, string, object]>([
    ['/v1/pets/9999', 404, 'pet_not_found', {}],
    ['/v1/pets', 401, 'invalid_api_key', { authorization: 'Bearer x' }],
    ['/v1/pets', 417, 'expectation_failed', { expect: 'x' }],
    ['/nothing', 404, 'route_not_found', {}],
  ])('is application/json whatever Accept says: %s, %i %s', async (path, status, code, more) => {
    for (const accept of ['application/problem+json', 'text/html', 'application/json;q=0']) {
      expectError(await app.get(path, { headers: { accept, ...more } }), status, code);
    }
  });

  it.each<[string, string | Buffer]>([
    ['it cannot be parsed (at character 14)', '{\n "a": 1,\r\n  x}'],
    ['it is not valid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['the member "a" occurs twice in one object, with different values', '{"a":1,"a":2}'],
  ])('malformed_json says: %s', async (reason, body) => {
    const { json } = await app.post('/v1/pets', body);
    expect(json.message).toBe(`The body is not acceptable JSON: ${reason}.`);
  });
});

describe('the operations of the document', () => {
  let key: string;
  const ids: Record<string, string> = { account: 'zoo' };
  beforeAll(async () => {
    key = await app.unlimitedKey();
    const create = async (path: string, body: object): Promise<string> =>
      (await app.post(`/v1/${path}`, body, { key })).json.id;
    ids['petId'] = await create('pets', aNewPet());
    ids['orderId'] = await create('store/orders', { petId: ids['petId'] });
    ids['webhookId'] = await create('webhooks', { url: 'https://shop.example' });
    await create('accounts', { name: ids['account'] });
    ids['keyId'] = await create(`accounts/${ids['account']}/keys`, {});
  });
  const keys = new Map<string, Promise<string>>();
  const keyOf = (scopes: Required<Extension>['scopes']) => {
    const known = keys.get(scopes.join()) ?? app.unlimitedKey(scopes);
    keys.set(scopes.join(), known);
    return known;
  };
  const targetOf = (path: string, own = ids) =>
    `/v1${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => own[name] ?? '0')}`;

  // test/testing/test-store.spec.ts tests each without a key, without a scope, and with one of its scopes.
  const scoped = document.operations.filter(({ scopes }) => scopes.length > 0);
  it.each(scoped.map(({ operationId, scopes, ...request }) => [operationId, scopes, request] as const))(
    '%s is 403 with all scopes but %j, and names them',
    async (_name, scopes, { method, path, body }) => {
      const others = await keyOf(DEFINED_SCOPES.filter((scope) => !scopes.includes(scope)));
      // It changes nothing.
      const request = { key: others, ...(body && { body: '{' }) };
      const response = await app.send(method, targetOf(path, {}), request);
      expectError(response, 403, 'insufficient_scope');
      expect(response.headers['www-authenticate']).toContain(`scope="${scopes.join(' ')}"`);
    },
  );

  const rows = ROWS.map((row) => [row[0], JSON.stringify(row[1]).slice(0, 99), row] as const);
  it.each(rows)('%s reject %s, and store nothing', async (names, _given, [, given, message]) => {
    const before = await app.database.query(STORED);
    for (const { method, path, body } of names.split(' ').map(operationOf)) {
      const query = typeof given === 'string' && !body ? `?${given}` : '';
      const members = typeof given === 'string' ? given : Object.assign({}, document.exampleOf(body!), given);
      const sent = { key, ...(body && { body: members }) };
      const response = await app.send(method, `${targetOf(path)}${query}`, sent);
      expectError(response, 400, 'validation_failed');
      expect(response.json.message.slice(0, message.length)).toBe(message);
    }
    expect(await app.database.query(STORED)).toEqual(before);
  });
});
