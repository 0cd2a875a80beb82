import { version } from '../../package.json';
import { parsers } from '../../src';
import type { GivenConfig } from '../../src/app/create-animal-store';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/platform/config/config';
import { defineErrors } from '../../src/platform/errors/define-errors';
import type { Extension } from '../../src/platform/extension/extension';
import { codesOf } from '../../src/platform/openapi/codes';
import { readCommittedDocument } from '../../src/testing/api-document';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { migrate } from '../../src/platform/database/migrate';
import { schemaConfig } from '../support/schema-config';
import { expectError } from '../support/expect-error';
import { kennels, Kennels1795300000000 } from './support/kennels.extension';

const setting = (variable: string) => ({ variable, defaultText: '', parse: parsers.text, meaning: '' });

describe('an extension', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createDatabase();
    await migrate({ ...schemaConfig(database.directUrl), ...createStore([kennels]) });
    const config: GivenConfig = { kennelPrefix: 'Great-' };
    app = await startApp(config, { extensions: [kennels], database });
  });
  afterAll(() => app.close());

  it('brings tables, routes, scopes, error codes and settings', async () => {
    const path = '/v1/kennels/first';
    const isDocumented = false;
    expectError(await app.get(path, { isDocumented }), 409, 'kennel_closed');
    await app.database.query(`INSERT INTO kennels VALUES ('North')`);
    expect((await app.get(path, { isDocumented })).json).toEqual({ name: 'Great-North' });
    const { key } = await app.createKey({ scopes: ['pets:read'] });
    expectError(await app.get(path, { key, isDocumented }), 403, 'insufficient_scope');
    const other = await app.createKey({ scopes: ['kennels:read'] });
    expect((await app.get(path, { key: other.key, isDocumented })).status).toBe(200);
  });

  it('brings request checks, which run after the check of the scope and before the body', async () => {
    const options = { headers: { 'x-embargo': '1' }, isDocumented: false };
    expectError(await app.post('/v1/pets', '{', options), 403, 'under_embargo');
    const { key } = await app.createKey({ scopes: ['pets:read'] });
    expectError(await app.post('/v1/pets', '{', { ...options, key }), 403, 'insufficient_scope');
  });

  it('is in the document, with its tag and its codes, and leaves the responses of other operations shared', async () => {
    const { json: document } = await app.get('/openapi.json', { key: undefined });
    expect(document.tags).toContainEqual({ name: 'kennels', description: 'Where animals live.' });
    const { responses } = document.paths['/kennels/first'].get;
    expect(responses['409'].description).toBe('- `kennel_closed`: the kennel is closed.');
    expect(document.paths['/pets'].get.responses['403']).toEqual({
      $ref: '#/components/responses/Forbidden',
    });
    expect(document.components.responses.Forbidden.description).toContain('under_embargo');
  });
});

describe('the settings of an extension', () => {
  it('are read and rejected with those of the store, in one message', () => {
    const { settings } = createStore([kennels]);
    expect(readConfig({ KENNEL_PREFIX: 'Great-' }, settings)).toMatchObject({
      kennelPrefix: 'Great-',
      port: 3000,
    });
    expect(() => readConfig({ PORT: 'x', KENNEL_PREFIX: 'Small' }, settings)).toThrow(
      /^Invalid settings: PORT must be .*; KENNEL_PREFIX must be one of , Great-, not "Small"\. Fix them/,
    );
  });
});

describe('mistakes in extensions end the start in one message', () => {
  it.each<[string, Extension[], string]>([
    ['a name that is given twice', [kennels, kennels], 'the extension kennels is given twice'],
    ['the name of a module of the store', [{ name: 'pets' }], 'the extension pets is given twice'],
    ['a name that cannot begin a scope', [{ name: 'My Kennels' }], 'the name My Kennels must consist of'],
    [
      'a scope without its prefix',
      [{ name: 'kennels', scopes: ['pets:feed'] }],
      'the scope pets:feed of kennels must begin with "kennels:"',
    ],
    [
      'a scope whose prefix only begins like its name',
      [{ name: 'kennels', scopes: ['kennelsx:read'] }],
      'the scope kennelsx:read of kennels must begin with "kennels:"',
    ],
    [
      'a migration that is given twice',
      [{ name: 'one', migrations: [Kennels1795300000000] }, kennels],
      'the migration Kennels1795300000000 is given twice',
    ],
    [
      'a migration without a timestamp',
      [{ name: 'one', migrations: [class Kennels extends Kennels1795300000000 {}] }],
      'the name of the migration Kennels must end with a timestamp in milliseconds',
    ],
    [
      'a scope that --scopes cannot name',
      [{ name: 'one', scopes: ['one:a,b'] }],
      'the scope one:a,b of one must consist of visible ASCII characters without quotes, commas and backslashes',
    ],
    [
      'a setting of the store',
      [{ name: 'one', settings: { port: setting('MY_PORT') } }],
      'the setting port is given twice',
    ],
    [
      'the variable of another extension',
      [{ name: 'one', settings: { prefix: setting('KENNEL_PREFIX') } }, kennels],
      'the variable KENNEL_PREFIX is given twice',
    ],
    [
      'a version out of range',
      [{ name: 'one', compatibility: '^99.0.0' }],
      `one works with animal-store ^99.0.0, and this is ${version}: install a version of one for it`,
    ],
    [
      'an invalid range of versions',
      [{ name: 'one', compatibility: 'latest' }],
      'the compatibility latest of one must be a range of versions such as',
    ],
    ['a tag of another extension', [{ name: 'one', tags: { pets: 'Ours.' } }], 'the tag pets is given twice'],
  ])('%s', (_mistake, extensions, problem) => {
    expect(() => createStore(extensions)).toThrow(`Invalid extensions: ${problem}`);
  });
});

describe('a wrong error code ends the start', () => {
  const { paths } = JSON.parse(readCommittedDocument());
  const facts = { status: 409, when: 'never', message: 'Never.' };

  it.each(['internal_error', 'pet_not_found'])('defined twice: %s', (code) => {
    const errors = Object.values(defineErrors({ [code]: facts }));
    expect(() => codesOf(paths, errors)).toThrow(
      `The error code ${code} is defined twice: rename one of them.`,
    );
  });

  it.each([200, 101, 999, 404.5])('with the status %d', (status) => {
    const errors = Object.values(defineErrors({ odd_status: { ...facts, status } }));
    expect(() => codesOf(paths, errors)).toThrow(
      `The error code odd_status has the status ${status}: use one from 400 to 599.`,
    );
  });

  it('in a service', async () => {
    const database = await createDatabase();
    const extension = { name: 'twin', errors: Object.values(defineErrors({ internal_error: facts })) };
    await expect(startApp({}, { database, extensions: [extension] })).rejects.toThrow('is defined twice');
    await database.drop();
  });
});
