import { load } from 'js-yaml';
import { LabModule } from '../modules/support/lab.module';
import { startApp, type TestApp } from '../support/app';
import { operations as expectedOperations } from '../support/module-operations';

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

  it('lists the operations: each with bearer authorization, getPet deprecated, extensions marked', () => {
    const operations = Object.entries<Record<string, any>>(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [
        operation.operationId,
        `${method} ${path}`,
        operation.deprecated ?? false,
        operation.security,
        operation['x-extension'] ?? false,
      ]),
    );
    const expected = Object.entries(expectedOperations).map(([id, { route, isDeprecated, isExtension }]) => [
      id,
      route,
      isDeprecated ?? false,
      [{ bearer: [] }],
      isExtension ?? false,
    ]);
    expect(new Set(operations)).toEqual(new Set(expected));
    const place = document.paths['/store/orders'].post;
    expect(place.description).toContain('beyond the specification');
    expect(place.parameters).toEqual([
      expect.objectContaining({ name: 'Idempotency-Key', in: 'header', required: false }),
    ]);
    expect(document.components.securitySchemes.bearer).toMatchObject({ type: 'http', scheme: 'bearer' });
  });

  it('has the schemas of the DTO classes: int64 as integers, bounds, enums, Error', () => {
    const { Pet, NewPet, PetUpdate, PetStatus, Error: ErrorSchema } = document.components.schemas;
    expect(Pet.required.sort()).toEqual(['categoryId', 'id', 'name', 'status']);
    expect(Pet.properties.id).toMatchObject({ type: 'integer', format: 'int64' });
    expect(NewPet.required.sort()).toEqual(['categoryId', 'name']);
    expect(NewPet.properties.name).toMatchObject({ minLength: 1, maxLength: 255 });
    expect(PetStatus.enum).toEqual(['available', 'pending', 'sold']);
    expect(ErrorSchema.required.sort()).toEqual(['code', 'message', 'status']);
    const { parameters } = document.paths['/pets'].get;
    expect(parameters.find((each: any) => each.name === 'limit')).toMatchObject({
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    });
    expect(parameters.map((each: any) => each.name)).toEqual([
      'limit',
      'cursor',
      'sort',
      'id',
      'categoryId',
      'status',
      'If-None-Match',
    ]);
    expect(parameters.find((each: any) => each.name === 'id').schema).toMatchObject({
      type: 'array',
      maxItems: 100,
      items: { type: 'integer', format: 'int64' },
    });
    expect([PetUpdate.minProperties, PetUpdate.required]).toEqual([1, undefined]);
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
