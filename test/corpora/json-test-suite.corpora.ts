import { readdirSync, readFileSync } from 'node:fs';
import type { TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { Answer } from '../support/http';
import { corpus, startForCorpora } from './support';

/** Two members of one name with different values, which the suite accepts and the service refuses. */
const CONTRADICTING = new Set(['y_object_duplicated_key.json']);

const FOLDER = corpus('jsontestsuite');
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
const of = (prefix: string): string[] => files.filter((name) => name.startsWith(prefix));
const bytesOf = (name: string): Buffer => readFileSync(`${FOLDER}/${name}`);

describe('nst/JSONTestSuite', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    ({ app, key } = await startForCorpora());
  });
  afterAll(() => app.close());

  const post = (body: Buffer): Promise<Answer> => app.post('/v1/pets', body, { key });
  /** The file as the value of a member that the service does not know. */
  const within = (name: string): Buffer =>
    Buffer.concat([Buffer.from('{"name":"Rex","categoryId":3,"x":'), bytesOf(name), Buffer.from('}')]);

  it('is there', () => {
    process.stdout.write(
      `JSONTestSuite: ${of('n_').length} n_, ${of('y_').length} y_, ${of('i_').length} i_\n`,
    );
    for (const prefix of ['n_', 'y_', 'i_']) expect(of(prefix).length).toBeGreaterThan(30);
  });

  it.each(of('n_'))('%s: 400 as a body', async (name) => {
    const answer = await post(bytesOf(name));
    expectError(answer, 400, answer.json.code as string);
    expect(['malformed_json', 'validation_failed']).toContain(answer.json.code);
  });

  it.each([...of('y_'), ...of('i_')])('%s: no 5xx as a body', async (name) => {
    expect((await post(bytesOf(name))).status).toBeLessThan(500);
  });

  it.each(of('y_'))('%s: 201 within an unknown member, 400 where it contradicts itself', async (name) => {
    const answer = await post(within(name));
    if (CONTRADICTING.has(name)) expectError(answer, 400, 'malformed_json');
    else expect(answer).toMatchObject({ status: 201, json: { name: 'Rex', categoryId: 3 } });
  });

  it.each(of('i_'))('%s: no 5xx within an unknown member', async (name) => {
    expect((await post(within(name))).status).toBeLessThan(500);
  });

  it.each(of('n_'))('%s: refused within an unknown member, or harmless there', async (name) => {
    // Some of these are broken only by what stands around them.
    expect([201, 400]).toContain((await post(within(name))).status);
  });
});
