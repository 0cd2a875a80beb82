import { load } from 'js-yaml';
import { LabModule } from '../modules/support/lab.module';
import { startApp, type TestApp } from '../support/app';

describe('the OpenAPI document', () => {
  let app: TestApp;
  let document: any;
  const without = { key: undefined };

  beforeAll(async () => {
    app = await startApp({
      deployment: 'production',
      publicBaseUrl: 'https://api.example.com/v1',
      stagingBaseUrl: 'https://staging.example.com/v1',
    });
    document = (await app.get('/openapi.json', without)).json;
  });
  afterAll(() => app.close());

  it('/openapi.json is OpenAPI 3.0 with version 1.0.0, and has production and staging as servers', async () => {
    const { status, headers } = await app.get('/openapi.json', without);
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: expect.stringMatching(/^application\/json/),
    });
    expect(document.openapi).toMatch(/^3\.0\./);
    expect(document.info).toMatchObject({ title: 'Animal Store', version: '1.0.0' });
    expect(document.servers).toEqual([
      { url: 'https://api.example.com/v1', description: 'Production', 'x-internal': false },
      { url: 'https://staging.example.com/v1', description: 'Staging', 'x-internal': false },
    ]);
  });

  it('/openapi.yaml is the same document', async () => {
    const { status, text } = await app.get('/openapi.yaml', without);
    expect(status).toBe(200);
    expect(load(text)).toEqual(document);
  });

  it('the contact is only a name by default; it has a URL if the setting has one', async () => {
    expect(document.info.contact).toEqual({ name: 'The operator of this deployment' });
    const named = await startApp({ contactUrl: 'https://example.com/support' }, { beside: app });
    expect((await named.get('/openapi.json', without)).json.info.contact.url).toBe(
      'https://example.com/support',
    );
    await named.close();
  });

  it("describes a module's routes by @Operation, and by Nest's decorators with @RequireScope", async () => {
    const extended = await startApp({}, { modules: [LabModule], beside: app });
    const { paths } = (await extended.get('/openapi.json', without)).json;
    await extended.close();
    const keep = paths['/lab/notes/{name}'].post;
    expect(keep).toMatchObject({
      operationId: 'keepNote',
      description: 'Returns the name in its path.\n\nThe key needs the scope `pets:write`.',
      security: [{ bearer: [] }],
    });
    expect(keep.parameters.map(({ name }: any) => name)).toEqual(['name', 'Idempotency-Key']);
    expect(Object.keys(keep.responses)).toEqual(expect.arrayContaining(['201', '409', '422']));
    expect(Object.keys(keep.responses['201'].headers)).toEqual(
      expect.arrayContaining(['Location', 'Idempotent-Replayed']),
    );
    expect(paths['/lab/closed'].get).toMatchObject({
      description: 'The key needs the scope `pets:read`.',
      security: [{ bearer: [] }],
    });
  });
});
