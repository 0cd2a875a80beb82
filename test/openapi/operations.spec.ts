import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const document = JSON.parse(readFileSync(join(__dirname, '..', '..', 'openapi.json'), 'utf8'));

function resolved(node: any): any {
  if (node.$ref === undefined) return node;
  const [, kind, name] = String(node.$ref).split('/').slice(1);
  return document.components[kind!][name!];
}

const operations: any[] = Object.values<any>(document.paths).flatMap((item) => Object.values<any>(item));

/** Operations whose success has no entity tag. */
const UNTAGGED = new Set([
  'createPets',
  'testWebhook',
  'getDeliveries',
  'resendEvent',
  'createKey',
  'rotateKey',
  'getKey',
  'getUsage',
]);

/** Every response of every operation, with its headers in lower case. */
const responses = operations.flatMap(({ operationId, responses: all }) =>
  Object.entries<any>(all).map(([status, reference]) => {
    const response = resolved(reference);
    const headers = Object.entries<any>(response.headers).map(([name, header]) => ({
      name: name.toLowerCase(),
      ...resolved(header),
    }));
    return { operationId, status: Number(status), response, headers };
  }),
);

/** The error codes of each status of an operation. */
const codesOf = (id: string): Readonly<Record<number, readonly string[]>> =>
  Object.fromEntries(
    responses
      .filter(({ operationId }) => operationId === id)
      .map(({ status, response }) => {
        const { examples = {} } = response.content?.['application/json'] ?? {};
        return [status, Object.values<any>(examples).map((example) => resolved(example).value.code)];
      }),
  );

/** Returns the status of success. */
function successOf(codes: object): number {
  return Number(Object.keys(codes).find((status) => status.startsWith('2')));
}

describe('openapi.json', () => {
  it('marks all operations but those of the specification as extensions', () => {
    const specified = operations.filter((each) => !each['x-extension']);
    const ids = new Set(specified.map(({ operationId }) => operationId));
    expect(ids).toEqual(new Set(['listPets', 'createPet', 'getPet', 'listOrders']));
  });

  it('has a body of each response but 204 and 304: an Error with examples from 400', () => {
    for (const { operationId, status, response } of responses) {
      const { examples = {}, schema } = response.content?.['application/json'] ?? {};
      const isError = schema?.$ref === '#/components/schemas/Error';
      const hasBody = response.content !== undefined;
      expect({ operationId, status, isError, hasBody }).toEqual({
        operationId,
        status,
        isError: status >= 400,
        hasBody: status !== 204 && status !== 304,
      });
      for (const example of Object.values<any>(isError ? examples : {}))
        expect(resolved(example).value).toMatchObject({ status, message: expect.any(String) });
    }
  });

  it('names the scopes of x-required-scopes in the description', () => {
    for (const { description, security, 'x-required-scopes': scopes } of operations) {
      const alternatives = scopes.map((scope: string) => `\`${scope}\``).join(' or ');
      expect(description).toContain(
        alternatives === '' ? 'Every valid key may use it, without a scope.' : `the scope ${alternatives}.`,
      );
      expect(security).toEqual([{ bearer: [] }]);
    }
  });

  it('has the common headers on every response; only two of them are optional', () => {
    for (const { headers } of responses) {
      const required = headers.filter((header) => header.required).map(({ name }) => name);
      expect(required).toEqual(
        expect.arrayContaining([
          'x-ratelimit-limit',
          'x-ratelimit-remaining',
          'x-ratelimit-reset',
          'ratelimit-policy',
          'ratelimit',
          'x-request-id',
          'x-content-type-options',
        ]),
      );
      expect(headers.map(({ name }) => name)).toContain('cache-control');
    }
  });

  it.each([
    ['retry-after', ({ status }: any) => status === 429 || status === 503],
    ['www-authenticate', ({ status }: any) => status === 401 || status === 403],
    ['location', ({ operationId, status }: any) => status === 201 && operationId !== 'createPets'],
    [
      'etag',
      ({ operationId, status }: any) => [200, 201, 304].includes(status) && !UNTAGGED.has(operationId),
    ],
  ])('has a required %s on exactly the responses that always have it', (name, where) => {
    const carriers = responses.filter(({ headers }) =>
      headers.some((header) => header.name === name && header.required),
    );
    const isInUse = ({ operationId, status }: any) =>
      String(codesOf(operationId)[status]) === 'idempotency_key_in_use';
    const expected = responses.filter((each) => where(each) || (name === 'retry-after' && isInUse(each)));
    expect(carriers).toEqual(expected);
  });

  it('has Link on lists, Idempotent-Replayed on 201, the headers of the 200 on 304, and the deprecation headers on every response of getPet', () => {
    const names = (id: string, only?: number) =>
      responses
        .filter(({ operationId, status }) => operationId === id && (only ?? status) === status)
        .map(({ headers }) => headers.map(({ name }) => name));
    for (const { operationId: id } of operations) {
      const codes = codesOf(id);
      const [success] = names(id, successOf(codes));
      const isList = codes[400]!.includes('invalid_cursor');
      expect([id, success!.includes('link')]).toEqual([id, isList || id === 'getPet']);
      expect([id, success!.includes('idempotent-replayed')]).toEqual([id, 422 in codes]);
    }
    for (const { operationId: id } of responses.filter(({ status }) => status === 304)) {
      expect([id, names(id, 304)]).toEqual([id, names(id, 200)]);
    }
    for (const each of names('getPet')) {
      expect(each).toEqual(expect.arrayContaining(['deprecation', 'sunset', 'link']));
    }
    const { deprecated, description, 'x-sunset': sunset } = document.paths['/pets/{petId}'].get;
    expect({ deprecated, sunset }).toEqual({ deprecated: true, sunset: '2030-12-05' });
    expect(description).toContain('5 December 2030');
    expect(operations.filter((each) => each.deprecated)).toHaveLength(1);
  });

  it('has If-None-Match on every GET with an entity tag, and If-Match on every operation that returns 412', () => {
    for (const { operationId: id, parameters = [] } of operations) {
      const codes = codesOf(id);
      const conditions = parameters
        .filter((each: any) => each.in === 'header' && each.name.startsWith('If-'))
        .map(({ name, required }: any) => [name, required]);
      const isRead = 304 in codes;
      expect([id, conditions]).toEqual([
        id,
        [...(isRead ? [['If-None-Match', false]] : []), ...(412 in codes ? [['If-Match', false]] : [])],
      ]);
    }
  });

  it('has Cache-Control private, no-cache on each 200 and 304 with an entity tag, which a client may store, and no-store elsewhere', () => {
    for (const { operationId, status, headers, response } of responses) {
      const { schema } = headers.find(({ name }) => name === 'cache-control');
      const { $ref = '' } = response.content?.['application/json']?.schema ?? {};
      const { properties = {} } = document.components.schemas[$ref.split('/').at(-1)] ?? {};
      const isPart = Object.values<any>(properties).every((each) => !each['x-untagged']);
      const isTagged = !UNTAGGED.has(operationId) && isPart;
      const isStorable = isTagged && (status === 200 || status === 304);
      expect([operationId, status, schema.enum]).toEqual([
        operationId,
        status,
        [isStorable ? 'private, no-cache' : 'no-store'],
      ]);
    }
  });

  it('describes plans, paging, keys, contact and licence', () => {
    const { info, components, servers } = document;
    for (const row of ['Free | 60 | 1,000', 'Pro | 300 | 10,000', 'Business | 1,000 | 100,000']) {
      expect(info.description).toContain(`| ${row} |`);
    }
    expect(info.description).toContain('| Enterprise | custom | custom |');
    expect(info.description).toContain('rel="next"');
    expect(info).toMatchObject({ contact: { name: expect.any(String) }, license: { name: 'MIT' } });
    expect(components.securitySchemes.bearer.description).toContain('ask_live_');
    expect(servers.map(({ url }: any) => url)).toEqual(['/v1']);
    const tags = document.tags.map(({ name }: any) => name);
    expect(new Set(operations.flatMap((each) => each.tags))).toEqual(new Set(tags));
  });

  it('has no word about commands of the operator, about extensions, or about a specification', () => {
    const texts = JSON.stringify(document).replaceAll('"x-extension":true', '');
    expect(texts).not.toMatch(/npm run|keys (create|list)|extension|specification/i);
  });

  it('lets a typed client leave out status of a new animal', () => {
    const { NewPet } = document.components.schemas;
    expect(NewPet.required).toEqual(['name', 'categoryId']);
    // Generators make a member with a default required, also in a request.
    expect(NewPet.properties.status).not.toHaveProperty('default');
  });

  it('declares status of listPets as one PetStatus (specification 4.1)', () => {
    const { parameters } = document.paths['/pets'].get;
    const { schema } = parameters.find(({ name }: any) => name === 'status');
    expect(schema).toEqual({ $ref: '#/components/schemas/PetStatus' });
  });

  it('has examples of changes that do no harm, and examples of errors that belong to their operation', () => {
    const { AccountChange, KeyChange, NewKey, PetUpdate, WebhookUpdate } = document.components.schemas;
    expect(
      [AccountChange, KeyChange, NewKey, PetUpdate, WebhookUpdate].map(({ example }) => example),
    ).toEqual([
      { disabled: false },
      { label: 'shop window' },
      { label: 'shop' },
      { name: 'Rex II' },
      { status: 'active' },
    ]);
    const messageOf = ({ responses: all }: any, status: number, code: string): string =>
      resolved(resolved(all[status]).content['application/json'].examples[code]).value.message;
    const scoped = operations.filter((each) => each['x-required-scopes'].length > 0);
    expect(scoped.map((each) => messageOf(each, 403, 'insufficient_scope'))).toEqual(
      scoped.map((each) => `The API key lacks the scope ${each['x-required-scopes'].join(' or ')}.`),
    );
    const unrelated = operations.filter((each) => {
      const message = messageOf(each, 400, 'validation_failed');
      const { $ref = '' } = each.requestBody?.content['application/json'].schema ?? {};
      const { properties = {} } = document.components.schemas[$ref.split('/').at(-1)] ?? {};
      const parameters = (each.parameters ?? []).map(({ name }: any) => name);
      const known = new Set<string>([...Object.keys(properties), ...parameters]);
      const isOfField = message.split(/\W+/).some((word) => known.has(word));
      return isOfField === message.startsWith('There is no query');
    });
    expect(unrelated.map(({ operationId }) => operationId)).toEqual([]);
  });

  it('has bounds for every integer, string and list, and an example for every schema of a body', () => {
    const schemas: any[] = [];
    JSON.stringify(document, (_key, value) => {
      if (['integer', 'string', 'array'].includes(value?.type)) schemas.push(value);
      return value;
    });
    const isBounded = ({ type, minimum, maximum, maxLength, enum: values, maxItems, items }: any) => {
      if (type === 'integer') return minimum !== undefined && maximum !== undefined;
      if (type === 'string') return (maxLength ?? values) !== undefined;
      // A page or a parameter, the values of a choice, the scopes or addresses of a key, or the usage of an account.
      return type !== 'array' || [items.enum?.length ?? 100, 20, 50, 1_000, 10_000].includes(maxItems);
    };
    expect(schemas.length).toBeGreaterThan(20);
    expect(schemas.filter((schema) => !isBounded(schema))).toEqual([]);
    for (const schema of Object.values<any>(document.components.schemas))
      expect(schema.example).toBeDefined();
  });
});
