import { readCommittedDocument } from '../support/committed-document';

const document = JSON.parse(readCommittedDocument());
const operations: any[] = Object.values<any>(document.paths).flatMap((item) => Object.values<any>(item));

// test/openapi/committed-document compares openapi.json with the source, the release and each response. The linters of
// test/interop require ids, summaries, tags, security, bounds, and the responses 401, 429 and 500.
describe('openapi.json', () => {
  it('marks all operations but those of the specification as extensions', () => {
    const specified = operations.filter((each) => !each['x-extension']).map((each) => each.operationId);
    expect(specified).toEqual(['listPets', 'createPet', 'getPet', 'listOrders']);
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
