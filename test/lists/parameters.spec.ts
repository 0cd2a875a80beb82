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
/** Lists with filters and in another order. */
const FILTERED = [
  '/v1/pets?status=available&',
  '/v1/pets?sort=-id&',
  '/v1/store/orders?account=*&',
  '/v1/webhooks?account=*&',
  '/v1/events?type=pet.created&',
  '/v1/pets?q=rexa&',
];

describe('the parameters of each list', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp({ webhooksAllowPrivate: true } as object);
    key = await app.unlimitedKey();
    await app.post('/v1/accounts', { name: 'acme' }, { key });
    for (let categoryId = 1; categoryId < 4; categoryId += 1) {
      const { id: petId } = (await app.post('/v1/pets', aNewPet({ name: 'Rexa', categoryId }), { key })).json;
      await app.post('/v1/store/orders', { petId }, { key });
      await app.post('/v1/pets', aNewPet({ name: 'Rexa', categoryId }), { key });
      await app.post('/v1/webhooks', { url: 'https://127.0.0.1/' }, { key });
      await app.post('/v1/accounts/acme/keys', { scopes: ['pets:read'] }, { key });
    }
  });
  afterAll(() => app.close());

  const get = (path: string) => app.get(path, { key });
  const cursorOf = async (list: string) => {
    const { next = '' } = linksOf(await get(`${list}limit=1`));
    return new URL(next, app.url).searchParams.get('cursor')!;
  };

  it('are 400 invalid_cursor with a cursor of any other list, filter or order, and 200 with their own', async () => {
    const lists = [...LISTS, ...FILTERED];
    expect(LISTS).toHaveLength(8);
    for (const from of lists) {
      const cursor = await cursorOf(from);
      for (const to of lists) {
        const response = await get(`${to}limit=7&cursor=${cursor}`);
        const code = response.status === 200 ? undefined : response.json.code;
        expect([from, to, code]).toEqual([from, to, from === to ? undefined : 'invalid_cursor']);
      }
    }
  });

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

  it.each([
    ...['', 'Sold', 'sold&status=', 'sold&status=sold', 'sold,available'].map(
      (value) => `/v1/pets?status=${value}`,
    ),
    ...['', 'Placed', 'placed&status=', 'placed&status=placed'].map(
      (value) => `/v1/store/orders?status=${value}`,
    ),
    '/v1/store/inventory?categoryId=a',
    '/v1/events?type=pet',
  ])('400 validation_failed for %s', async (path) => {
    const response = await get(path);
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toContain(/[?](\w+)/.exec(path)![1]);
  });

  it('ignore unknown parameters with any name', async () => {
    const unknown = 'page=7&__proto__=1&constructor=2&then=3&other[]=9&%FF=%FF&=&filters=1';
    for (const list of LISTS)
      expect((await get(`${list}limit=2&${unknown}`)).text).toBe((await get(`${list}limit=2`)).text);
  });

  it('are an empty array without Link if the list is empty', async () => {
    for (const list of ['/v1/pets?id=4711', '/v1/store/orders?account=nobody'])
      expect(await get(list)).toMatchObject({
        status: 200,
        text: '[]',
        headers: expect.not.objectContaining({ link: expect.anything() }),
      });
  });
});
