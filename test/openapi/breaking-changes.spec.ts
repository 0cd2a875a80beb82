import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { missingRelease } from '../../scripts/missing-release';
import { breakingChanges } from './support/breaking-changes';

const read = (file: string): string => readFileSync(join(__dirname, '..', '..', file), 'utf8');
const text = read('openapi.json');

function after(change: (document: any) => void): string[] {
  const document = JSON.parse(text);
  change(document);
  return breakingChanges(JSON.parse(text), document);
}

const list = (document: any) => document.paths['/pets'].get;
const create = (document: any) => document.paths['/pets'].post;
const schemas = (document: any) => document.components.schemas;
const limit = (document: any) => list(document).parameters.find(({ name }: any) => name === 'limit');

describe('finds a breaking change', () => {
  it.each<[string, (document: any) => unknown]>([
    ['get /pets/{petId}: removed', (d) => delete d.paths['/pets/{petId}']],
    ['get /pets: has another operationId', (d) => (list(d).operationId = 'findPets')],
    ['get /pets: asks for another authorization', (d) => (list(d).security = [{ oauth: [] }])],
    ['security scheme bearer: removed', (d) => delete d.components.securitySchemes.bearer],
    ['get /pets 200: removed', (d) => delete list(d).responses['200']],
    ['get /pets query limit: removed', (d) => (list(d).parameters = list(d).parameters.slice(1))],
    ['get /pets query limit: has a narrower maximum', (d) => (limit(d).schema.maximum = 50)],
    ['get /pets query limit: is required', (d) => (limit(d).required = true)],
    ['get /pets 200 header Link: removed', (d) => delete list(d).responses['200'].headers.Link],
    [
      'get /pets 200 header X-Request-Id: may be missing',
      (d) => (d.components.headers['X-Request-Id'].required = false),
    ],
    [
      'get /pets 401 example expired_api_key: removed',
      (d) => delete d.components.responses.Unauthorized.content['application/json'].examples.expired_api_key,
    ],
    [
      'get /pets 200 media type application/json: removed',
      (d) => (list(d).responses['200'].content = { 'application/xml': {} }),
    ],
    ['get /pets 200[] member categoryId: removed', (d) => delete schemas(d).Pet.properties.categoryId],
    ['get /pets 200[].id: may be missing', (d) => schemas(d).Pet.required.shift()],
    ['get /pets 200[].name: has a wider maxLength', (d) => (schemas(d).Pet.properties.name.maxLength = 500)],
    ['get /pets 200[].status: has the new value lost', (d) => schemas(d).PetStatus.enum.push('lost')],
    ['post /pets body.status: lacks the value sold', (d) => schemas(d).PetStatus.enum.pop()],
    [
      'post /pets body.name: has a narrower maxLength',
      (d) => (schemas(d).NewPet.properties.name.maxLength = 80),
    ],
    ['post /pets body.status: is required', (d) => schemas(d).NewPet.required.push('status')],
  ])('%s', (expected, change) => {
    expect(after(change)).toContainEqual(expected);
  });

  it('finds a body that becomes required', () => {
    const [before, now] = [JSON.parse(text), JSON.parse(text)];
    create(before).requestBody.required = false;
    expect(breakingChanges(before, now)).toEqual(['post /pets body: is required']);
  });
});

describe('accepts an addition', () => {
  it.each<[string, (document: any) => unknown]>([
    ['no change', () => undefined],
    ['an operation', (d) => (d.paths['/kinds'] = { get: list(d) })],
    ['a status', (d) => (list(d).responses['418'] = { description: 'Teapot' })],
    ['a header', (d) => (list(d).responses['200'].headers['X-More'] = { schema: { type: 'string' } })],
    ['a member of a response', (d) => (schemas(d).Pet.properties.age = { type: 'integer' })],
    ['an optional member of a body', (d) => (schemas(d).NewPet.properties.age = { type: 'integer' })],
    ['a limit that may be higher', (d) => (limit(d).schema.maximum = 200)],
    [
      'a shared response written out',
      (d) => (list(d).responses['401'] = structuredClone(d.components.responses.Unauthorized)),
    ],
  ])('%s', (_what, change) => {
    expect(after(change)).toEqual([]);
  });
});

describe('npm run openapi:release', () => {
  const DOCUMENT = '{"info":{"version":"1.2.0"}}';

  it('accepts the document of this commit: CHANGELOG.md has an entry for its version', () => {
    expect(missingRelease(text, read('CHANGELOG.md'))).toBeUndefined();
  });

  it('accepts a dated entry for the version of the document', () => {
    expect(missingRelease(DOCUMENT, '# Changelog\n\n## [1.2.0] - 2027-01-31\n')).toBeUndefined();
  });

  it.each(['## [Unreleased]', '## [1.1.0] - 2027-01-31', '## [1.2.0]', '## [1.2.0] - soon', ''])(
    'rejects a changelog with only "%s", in one sentence that names the entry',
    (changelog) => {
      expect(missingRelease(DOCUMENT, changelog)).toBe(
        'CHANGELOG.md has no entry for version 1.2.0 of openapi.json. Add "## [1.2.0] - YYYY-MM-DD" and run npm run openapi:release again.',
      );
    },
  );
});
