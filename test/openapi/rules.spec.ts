import { readCommittedDocument } from '../support/committed-document';

const document = JSON.parse(readCommittedDocument());
const operations: any[] = Object.values<any>(document.paths).flatMap((item) => Object.values<any>(item));

function resolved(node: any): any {
  if (node.$ref === undefined) return node;
  const [, kind, name] = String(node.$ref).split('/').slice(1);
  return document.components[kind!][name!];
}

/** The names of the headers of a response, in lower case. */
const headersOf = (response: any): string[] =>
  Object.keys(resolved(response).headers).map((name) => name.toLowerCase());

/** The conditional headers that an operation takes. */
const conditionsOf = ({ parameters = [] }: any): string[] =>
  parameters.filter(({ name }: any) => name.startsWith('If-')).map(({ name }: any) => name);

// test/openapi/committed-document compares openapi.json with the source, the release and each response. The linters of
// test/interop require ids, summaries, tags, security, bounds, and the responses 401, 429 and 500.
describe('openapi.json', () => {
  it('marks all operations but those of the specification as extensions', () => {
    const specified = operations.filter((each) => !each['x-extension']).map((each) => each.operationId);
    expect(specified).toEqual(['listPets', 'createPet', 'getPet', 'listOrders']);
  });

  it('names the scopes of x-required-scopes in the description', () => {
    for (const { description, 'x-required-scopes': scopes } of operations) {
      const names = scopes.map((scope: string) => `\`${scope}\``).join(' or ');
      const sentence = names === '' ? 'Every valid key may use it, without a scope.' : `the scope ${names}.`;
      expect(description).toContain(sentence);
    }
  });

  it('names the scopes of x-required-scopes in the example of 403', () => {
    const scoped = operations.filter((each) => each['x-required-scopes'].length > 0);
    for (const { responses, 'x-required-scopes': scopes } of scoped) {
      const { examples } = resolved(responses[403]).content['application/json'];
      const message = `The API key lacks the scope ${scopes.join(' or ')}.`;
      expect(resolved(examples.insufficient_scope).value.message).toBe(message);
    }
  });

  it('has an Error with examples of its status for each response from 400, and a body for others but 204 and 304', () => {
    for (const { operationId, responses } of operations) {
      for (const [status, reference] of Object.entries<any>(responses)) {
        const { schema, examples = {} } = resolved(reference).content?.['application/json'] ?? {};
        const isError = schema?.$ref === '#/components/schemas/Error';
        const expected = [operationId, status >= '400', status !== '204' && status !== '304'];
        expect([operationId, isError, schema !== undefined]).toEqual(expected);
        const values = Object.values<any>(isError ? examples : {}).map((each) => resolved(each).value);
        for (const value of values) expect(value.status).toBe(Number(status));
      }
    }
  });

  it('has Link on lists and on the deprecated operation, Idempotent-Replayed next to 422, and the headers of a 200 on its 304', () => {
    for (const { operationId: id, responses, deprecated, parameters = [] } of operations) {
      const [[, success]] = Object.entries<any>(responses).filter(([status]) => status < '300') as any;
      const isList = parameters.some(({ name }: any) => name === 'cursor');
      expect([id, headersOf(success).includes('link')]).toEqual([id, isList || deprecated === true]);
      expect([id, headersOf(success).includes('idempotent-replayed')]).toEqual([id, '422' in responses]);
      const current = responses[304] ?? responses[200] ?? success;
      expect([id, headersOf(current)]).toEqual([id, headersOf(success)]);
    }
  });

  it('has If-None-Match on each operation with 304, and If-Match on each with 412', () => {
    for (const { operationId, responses, parameters } of operations) {
      const expected = [
        ...('304' in responses ? ['If-None-Match'] : []),
        ...('412' in responses ? ['If-Match'] : []),
      ];
      expect([operationId, ...conditionsOf({ parameters })]).toEqual([operationId, ...expected]);
    }
  });

  it('has no word about commands of the operator, about extensions, or about a specification', () => {
    const texts = JSON.stringify(document).replaceAll('"x-extension":true', '');
    expect(texts).not.toMatch(/npm run|keys (create|list)|extension|specification/i);
  });

  it('has an example for each schema, and lets a typed client leave out status of a new animal', () => {
    const { schemas } = document.components;
    expect(Object.keys(schemas).filter((name) => schemas[name].example === undefined)).toEqual([]);
    // Generators make a member with a default required, also in a request.
    expect(schemas.NewPet.properties.status).not.toHaveProperty('default');
  });
});
