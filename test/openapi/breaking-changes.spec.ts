import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { missingRelease } from '../../scripts/missing-release';
import { breakingChanges } from './support/breaking-changes';

const read = (file: string): string => readFileSync(join(__dirname, '..', '..', file), 'utf8');
const { paths, ...others } = JSON.parse(read('openapi.json'));
/** The two paths that the changes are made to. */
const text = JSON.stringify({
  ...others,
  paths: { '/pets': paths['/pets'], '/pets/{petId}': paths['/pets/{petId}'] },
});

const list = (document: any) => document.paths['/pets'].get;
const schemas = (document: any) => document.components.schemas;
const limit = (document: any) => list(document).parameters.find(({ name }: any) => name === 'limit');
const unauthorized = (document: any) => document.components.responses.Unauthorized;
const codes = (document: any) => unauthorized(document).content['application/json'].examples;
const requestId = (document: any) => document.components.headers['X-Request-Id'];
const body = (document: any) => document.paths['/pets'].post.requestBody;

describe('a change of openapi.json', () => {
  it.each<[string | undefined, string, (document: any) => unknown]>([
    ['/pets/{petId}: lacks the method get', 'an operation', (d) => delete d.paths['/pets/{petId}'].get],
    ['get: has another operationId', 'its id', (d) => (list(d).operationId = 'findPets')],
    ['get: has another authorization', 'its security', (d) => (list(d).security = [{ oauth: [] }])],
    ['lacks the security scheme bearer', 'a scheme', (d) => delete d.components.securitySchemes.bearer],
    ['get: lacks the status 200', 'a status', (d) => delete list(d).responses['200']],
    ['get: lacks the input query limit', 'a parameter', (d) => list(d).parameters.shift()],
    ['query limit: has a narrower maximum', 'a lower limit', (d) => (limit(d).schema.maximum = 50)],
    ['get: has the new required input query limit', 'a duty', (d) => (limit(d).required = true)],
    ['post: lacks the input body', 'no body', (d) => delete d.paths['/pets'].post.requestBody],
    ['200: lacks the header Link', 'a header', (d) => delete list(d).responses['200'].headers.Link],
    ['lacks the required header X-Request-Id', 'an optional header', (d) => (requestId(d).required = false)],
    ['401: lacks the example expired_api_key', 'a code', (d) => delete codes(d).expired_api_key],
    ['200: lacks the media type application/json', 'a form', (d) => (list(d).responses['200'].content = {})],
    ['200[]: lacks the member categoryId', 'a member', (d) => delete schemas(d).Pet.properties.categoryId],
    ['200[]: lacks the required member id', 'an optional member', (d) => schemas(d).Pet.required.shift()],
    ['200[] name: has a wider maxLength', 'a name', (d) => (schemas(d).Pet.properties.name.maxLength = 500)],
    ['200[] status: has the new value lost', 'a value', (d) => schemas(d).PetStatus.enum.push('lost')],
    ['body status: lacks the value sold', 'no value', (d) => schemas(d).PetStatus.enum.pop()],
    ['body name: lacks the value any', 'an enum', (d) => (schemas(d).NewPet.properties.name.enum = ['Rex'])],
    ['body name: has another pattern', 'a form', (d) => (schemas(d).NewPet.properties.name.pattern = 'x')],
    ['has the new required member status', 'a member', (d) => schemas(d).NewPet.required.push('status')],
    [undefined, 'none', () => undefined],
    [undefined, 'a new operation', (d) => (d.paths['/kinds'] = { get: list(d) })],
    [undefined, 'a new status', (d) => (list(d).responses['418'] = { description: 'Teapot' })],
    [undefined, 'a new header', (d) => (list(d).responses['200'].headers['X-More'] = { schema: {} })],
    [undefined, 'a new member of a response', (d) => (schemas(d).Pet.properties.age = { type: 'integer' })],
    [undefined, 'an optional member of a body', (d) => (schemas(d).NewPet.properties.age = {})],
    [undefined, 'a body that may be missing', (d) => (body(d).required = false)],
    [undefined, 'a higher limit', (d) => (limit(d).schema.maximum = 200)],
    [undefined, 'a repeated parameter', (d) => (limit(d).schema = { type: 'array', items: limit(d).schema })],
    [undefined, 'a shared response written out', (d) => (list(d).responses['401'] = unauthorized(d))],
  ])('breaks clients: %j (%s)', (expected, _what, change) => {
    const document = JSON.parse(text);
    change(document);
    expect(breakingChanges(JSON.parse(text), document).join('\n')).toMatch(expected ?? /^$/);
  });

  it('breaks clients if a body becomes required', () => {
    const before = JSON.parse(text);
    body(before).required = false;
    expect(breakingChanges(before, JSON.parse(text))).toEqual([
      '/pets post: has the new required input body',
    ]);
  });
});

it('npm run openapi:release needs a dated entry of CHANGELOG.md for the version of the document', () => {
  expect(missingRelease(text, read('CHANGELOG.md'))).toBeUndefined();
  const missing = (changelog: string) => missingRelease('{"info":{"version":"1.2.0"}}', changelog);
  expect(missing('# Changelog\n\n## [1.2.0] - 2027-01-31\n')).toBeUndefined();
  for (const entry of ['## [Unreleased]', '## [1.1.0] - 2027-01-31', '## [1.2.0]', '## [1.2.0] - soon', ''])
    expect(missing(entry)).toBe(
      'CHANGELOG.md has no entry for version 1.2.0 of openapi.json. Add "## [1.2.0] - YYYY-MM-DD" and run npm run openapi:release again.',
    );
});
