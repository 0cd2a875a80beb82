import { BasketsModule, EMPTY } from '../modules/support/baskets.module';
import { startApp, type TestApp } from '../support/app';
import { readCommittedDocument } from '../support/committed-document';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';

interface Operation {
  readonly parameters?: readonly { readonly name: string }[];
}
const { paths } = JSON.parse(readCommittedDocument()) as {
  paths: Record<string, { readonly get?: Operation }>;
};
/** The lists of the document, with the parameters that a request must have. */
const LISTS = Object.entries(paths)
  .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'cursor'))
  .map(([path]) => `/v1${path.replace('{account}', 'acme')}?`);
const STRICT = { prefer: 'handling=strict' };
const APPLIED = 'handling=strict';
const FEW = ' (known are name, categoryId, status)';
const INT64 = 'from -9223372036854775808 to 9223372036854775807';

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ webhooksAllowPrivate: true } as object, { modules: [BasketsModule] });
});

describe('the parameters of each list', () => {
  let key: string;
  beforeAll(async () => {
    key = await app.unlimitedKey();
    await app.post('/v1/accounts', { name: 'acme' }, { key });
    // A page of one then has a next one.
    for (let categoryId = 1; categoryId < 3; categoryId += 1) {
      const { id: petId } = (await app.post('/v1/pets', aNewPet({ categoryId }), { key })).json;
      await app.post('/v1/store/orders', { petId }, { key });
      await app.post('/v1/webhooks', { url: 'https://127.0.0.1/' }, { key });
      await app.post('/v1/accounts/acme/keys', { scopes: ['pets:read'] }, { key });
    }
  });
  const get = (path: string) => app.get(path, { key });
  const cursorOf = async (list: string) => {
    const { next = '' } = linksOf(await get(`${list}limit=1`));
    return new URL(next, app.url).searchParams.get('cursor')!;
  };

  /** Returns the cursor of the next page with another place, as no list returns it. */
  const forge = async (list: string, place: string) => {
    const [, name] = Buffer.from(await cursorOf(list), 'base64url')
      .toString()
      .split('@');
    return Buffer.from(`${place}@${name}`).toString('base64url');
  };

  it.each(LISTS)('%s is 400 invalid_cursor with a cursor that the list did not return', async (list) => {
    const forged = await Promise.all(
      ['', 'x', '007', '9223372036854775808'].map((place) => forge(list, place)),
    );
    for (const cursor of ['abc', '', '%F0%9F%90%B6', `${await cursorOf(list)}=`, ...forged])
      expectError(await get(`${list}cursor=${cursor}`), 400, 'invalid_cursor');
    for (const place of ['-9223372036854775808', '9223372036854775807'])
      expect((await get(`${list}cursor=${await forge(list, place)}`)).status).toBeLessThan(500);
  });

  it('have a page after the lowest and the highest possible id, in both orders', async () => {
    for (const list of ['/v1/pets?', '/v1/pets?sort=-id&'])
      for (const place of ['-9223372036854775808', '9223372036854775807'])
        expect((await get(`${list}cursor=${await forge(list, place)}`)).status).toBe(200);
  });

  it.each(LISTS)(
    '%s is 400 validation_failed for any limit but a plain number from 1 to 100',
    async (list) => {
      const wrong = ['0', '101', '0x10', '1e1', '%201', '01', '', '-1', '+1', '1.0', '%D9%A1', '1&limit=2'];
      for (const limit of wrong) {
        const response = await get(`${list}limit=${limit}`);
        expectError(response, 400, 'validation_failed');
        expect(response.json.message).toContain('limit');
      }
      expect((await get(`${list}limit=100`)).status).toBe(200);
    },
  );

  it('ignore unknown parameters with any name', async () => {
    const unknown = 'page=7&__proto__=1&constructor=2&then=3&other[]=9&%FF=%FF&=&filters=1';
    for (const list of LISTS)
      expect((await get(`${list}limit=2&${unknown}`)).text).toBe((await get(`${list}limit=2`)).text);
  });
});

describe('Prefer: handling=strict', () => {
  it.each<[string, string | RegExp]>([
    ['/v1/pets?stauts=sold', 'query parameter stauts is unknown (did you mean status?).'],
    ['/v1/pets?category_id=3&limit=1', 'query parameter category_id is unknown (did you mean categoryId?).'],
    [
      '/v1/pets?colour=red&limti=1',
      'query parameter colour is unknown (known are limit, cursor, sort, id, categoryId, status, q); query parameter limti is unknown (did you mean limit?).',
    ],
    ['/v1/pets/0?x=1', 'query parameter x is unknown.'],
    ['/v1/key?+=1', 'query parameter " " is unknown.'],
  ])('GET %s is 400 only with it: %s', async (path, message) => {
    const response = await app.get(path, { headers: STRICT });
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toBe(message);
    expect(response.headers['preference-applied']).toBe(APPLIED);
    const { status, headers } = await app.get(path);
    expect([status, headers['preference-applied']]).toEqual([path.includes('/0?') ? 404 : 200, undefined]);
  });

  it.each([
    [
      'limit=0&colour=red&id=1,2',
      /^query parameter colour is unknown \(known are .*\); limit must be .*; id must be /,
    ],
    ['id%5B%5D=1&limit=x', /^query parameter id\[\] is unknown \(did you mean id\?\); limit must be /],
  ])('names the other mistakes of the query %s, too', async (query, message) => {
    const { json } = await app.get(`/v1/pets?${query}`, { headers: STRICT });
    expect(json.message).toMatch(message);
  });

  it.each<[string, object, string]>([
    [
      'POST /v1/pets?dry=1',
      { nmae: 'Rex', __proto: 1 },
      `query parameter dry is unknown; member nmae is unknown (did you mean name?); member __proto is unknown${FEW}; name is missing; categoryId is missing.`,
    ],
    ['POST /v1/pets/batch', { items: [aNewPet({ id: 7 })] }, `member items.0.id is unknown${FEW}.`],
    [
      'PATCH /v1/pets/1',
      { Name: 'Rex' },
      'member Name is unknown (did you mean name?); The body must have at least one of name, categoryId, status.',
    ],
    [
      'POST /v1/baskets',
      { ...EMPTY, best: { 'a/b': 1 }, toys: [{ name: 'a' }, { nam: 'b' }] },
      'member best.a/b is unknown (known are name); member toys.1.nam is unknown (did you mean name?); best.name is missing; toys.1.name is missing.',
    ],
  ])('%s %j is 400, and names the other mistakes, too: %s', async (request, body, message) => {
    const [method, path] = request.split(' ') as [string, string];
    const response = await app.send(method, path, { body, headers: STRICT });
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toBe(message);
  });

  it.each([
    ['/v1/pets?id[]=1', 'query parameter id[] is unknown (did you mean id?)'],
    ['/v1/pets?id%5b0%5d=1', 'id[0] is unknown (did you mean id?)'],
    ['/v1/store/orders?status[in]=placed', 'status[in] is unknown (did you mean status?)'],
    ['/v1/webhooks?limit[]=1&limit[]=2', 'query parameter limit[] is unknown (did you mean limit?)'],
  ])('without it, too, %s is 400: %s; an unknown name is ignored', async (path, message) => {
    const response = await app.get(path);
    expectError(response, 400, 'validation_failed');
    expect(response.headers['preference-applied']).toBeUndefined();
    expect(response.json.message).toContain(message);
    expect((await app.send('HEAD', path)).status).toBe(400);
    expect((await app.get(path.replaceAll(/(?<=[?&])/g, 'x'))).status).toBe(200);
  });

  it.each([
    [
      '/v1/pets?cursor=a&limit=0&cursor=b',
      'limit must be a whole number from 1 to 100; cursor must be given once.',
    ],
    ['/v1/pets?q=a&q=b', 'q must be given once.'],
    ['/v1/pets?id=1&id=x', 'id must be 1 to 100 integers'],
    ['/v1/pets?id=1,2', 'each in a parameter of its own.'],
    ['/v1/pets?id=9223372036854775808', `id must be 1 to 100 integers ${INT64}`],
    ['/v1/pets?categoryId=9223372036854775808', `categoryId must be an integer ${INT64}.`],
    ['/v1/store/inventory?categoryId=a', 'categoryId must be 1 to 100 integers'],
    ['/v1/events?type=pet', 'type must be one or more of'],
    ...['', 'Sold', 'sold&status=', 'sold&status=sold', 'sold,pending'].map((value) => [
      `/v1/pets?status=${value}`,
      'status must be one or more of available, pending, sold, each once.',
    ]),
  ])('has nothing to add to the 400 of %s: %s', async (path, message) => {
    const response = await app.get(path, { headers: STRICT });
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toContain(message);
  });

  it('accepts what the document has', async () => {
    const created = await app.post('/v1/pets', aNewPet(), { headers: STRICT });
    const { status, headers } = await app.send('HEAD', '/v1/pets?limit=1&id=1&id=2', { headers: STRICT });
    expect([created.status, created.headers['preference-applied']]).toEqual([201, APPLIED]);
    expect([status, headers['preference-applied']]).toEqual([200, APPLIED]);
    const basket = { ...EMPTY, toys: [{ name: 'rope' }] };
    expect((await app.post('/v1/baskets', basket, { headers: STRICT })).json).toEqual(basket);
  });

  it.each([
    ['respond-async, handling="strict"; why=x', 400],
    ['Handling = STRICT', 400],
    ['handling=lenient, handling=strict', 200],
    ['handling=stricter', 200],
  ])('is one of many forms: %s (%i)', async (prefer, expected) => {
    const { status, headers } = await app.get('/v1/pets?x=1', { headers: { prefer } });
    expect([status, headers['preference-applied']]).toEqual([
      expected,
      expected === 400 ? APPLIED : undefined,
    ]);
  });

  it('names the first unknown members of 2,000, in a message of the documented length', async () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`member${at}`, 1]));
    const { json } = await app.post('/v1/pets', many, { headers: STRICT });
    expect(json.message).toMatch(/^member member0 is unknown \(.*\); member member1 is unknown \(/);
    expect(json.message).toHaveLength(4_096);
  });
});
