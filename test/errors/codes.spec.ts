import type { OpenAPIObject } from '@nestjs/swagger';
import type { DefinedError } from '../../src/platform/errors/api-error';
import { codesOf } from '../../src/server/openapi/responses';
import { filesOf, read } from '../docs/documents';
import { startApp, type TestApp } from '../support/app';
import { readCommittedDocument } from '../support/committed-document';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';

// Each request also checks the headers of its response, those of the rate limit included: openapi.json requires them.
describe('the Error body', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });

  it('of each code of the document is expected by a spec', () => {
    const specs = filesOf('test/*.spec.ts').map(read).join('');
    const { paths }: OpenAPIObject = JSON.parse(readCommittedDocument());
    const isExpected = ({ status, code }: DefinedError) => new RegExp(`${status}(, '| )${code}'`).test(specs);
    expect(codesOf(paths).filter((each) => !isExpected(each))).toEqual([]);
  });

  it('404 key_not_found has code, message and status', async () =>
    expectError(await app.get('/v1/keys/9999'), 404, 'key_not_found'));

  // The commit fails, not the DELETE.
  it('409 pet_in_use is for an animal to which a table of another module refers', async () => {
    const { id } = (await app.post('/v1/pets', aNewPet())).json;
    await app.database.query(`CREATE TABLE visits AS SELECT ${id}::bigint AS pet_id`);
    await app.database.query(
      'ALTER TABLE visits ADD FOREIGN KEY (pet_id) REFERENCES pets DEFERRABLE INITIALLY DEFERRED',
    );
    expectError(await app.send('DELETE', `/v1/pets/${id}`), 409, 'pet_in_use');
  });

  it.each<[string, number, string, object]>([
    ['/v1/pets/9999', 404, 'pet_not_found', {}],
    ['/v1/pets', 401, 'invalid_api_key', { authorization: 'Bearer x' }],
    ['/v1/pets', 417, 'expectation_failed', { expect: 'x' }],
    ['/nothing', 404, 'route_not_found', {}],
  ])('is application/json whatever Accept says: %s, %i %s', async (path, status, code, more) => {
    for (const accept of ['application/problem+json', 'text/html', 'application/json;q=0']) {
      expectError(await app.get(path, { headers: { accept, ...more } }), status, code);
    }
  });

  it.each<[string, string | Buffer]>([
    ['it cannot be parsed (at character 14)', '{\n "a": 1,\r\n  x}'],
    ['it is not valid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['two members of one object have the same name and different values (at character 8)', '{"a":1,"a":2}'],
  ])('malformed_json says: %s', async (reason, body) => {
    const { json } = await app.post('/v1/pets', body);
    expect(json.message).toBe(`The body is not acceptable JSON: ${reason}.`);
  });
});
