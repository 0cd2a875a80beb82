import { applyDecorators, Controller, Get, Inject, Injectable } from '@nestjs/common';
import { Logger, Module, type Type } from '@nestjs/common';
import { version } from '../../package.json';
import { defineErrors, type Extension, Operation, parsers, RequireScope } from '../../src';
import { createStore } from '../../src/app/store';
import { userMessage } from '../../src/app/user-message';
import { type PetHold, PetHolds, PetsModule } from '../../src/pets';
import { readConfig } from '../../src/config/config';
import { startApp, type TestApp } from '../support/app';
import { kennels, Kennels1795300000000 as MIGRATION } from './support/kennels.extension';

const errorOf = (code: string) =>
  Object.values(defineErrors({ [code]: { status: 409, when: 'never', message: 'Never.' } }));
const setting = (variable: string) => ({ variable, defaultText: '', parse: parsers.text, meaning: '' });
const event = (type: string, scope = 'pets:read', data: Type = Map) => ({ [type]: { data, scope } });

/** Creates a module whose controller has a handler with these decorators for each list. */
function moduleWith(...handlers: MethodDecorator[][]): Type {
  @Controller('lab')
  class LabController {
    one() {}
    other() {}
  }
  for (const [at, decorators] of handlers.entries()) {
    const name = (['one', 'other'] as const)[at]!;
    const handler = Object.getOwnPropertyDescriptor(LabController.prototype, name)!;
    applyDecorators(...decorators)(LabController.prototype, name, handler);
  }
  @Module({ controllers: [LabController] })
  class LabModule {}
  return LabModule;
}

/** @param id of no other handler of this process, because its facts stay */
const described = (id: string, scope: string, more: object = {}) => {
  const facts = { id, summary: 'Do nothing', description: 'Never runs.' };
  return Operation({ ...facts, scope, returns: [204, undefined, ''], ...more });
};
const readable = [Get(), RequireScope('pets:read')];
const twice = (path: string) => [Get(path), described('getOne', 'pets:read')];

/** Creates a module that holds animals with an error of this status. */
function holding(status: number, forbids: PetHold['forbids']): Type {
  const { pet_in_quarantine: error } = defineErrors({
    pet_in_quarantine: { status, when: 'never', message: 'Never.' },
  });
  const useFactory = (holds: PetHolds) => holds.add({ forbids, error, isHeld: async () => true });
  @Module({ imports: [PetsModule], providers: [{ provide: 'hold', inject: [PetHolds], useFactory }] })
  class QuarantineModule {}
  return QuarantineModule;
}

/** Its name is that of a class of the store. */
@Injectable()
class Pet {
  constructor(@Inject('TOKEN') readonly token: string) {}
}
@Module({ providers: [Pet] })
class NeedyModule {}

const UNDECLARED =
  'declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler, which must be a method of a controller.';
const FORM = 'must begin with a-z or 0-9, and have only ASCII letters, digits and _:./*-';
const ONE = { name: 'one' };

describe('the start fails with one sentence for', () => {
  let app: TestApp;
  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());

  it.each<[string, Extension | Type, ...Type[]]>([
    [`GET /v1/lab/open ${UNDECLARED}`, moduleWith([Get('open')])],
    [`GET /v1/lab/left ${UNDECLARED}`, moduleWith([Get('left'), described('getLeft', undefined as never)])],
    [
      `GET /v1/lab requires the scope pets:reed, which no extension declares: use one of ${createStore().scopes.join(', ')}.`,
      moduleWith([Get(), described('getReed', 'pets:reed')]),
    ],
    [
      'The error code pet_not_found of getNone has two definitions, if no animal has this id (404) and if never (409): rename one of them.',
      moduleWith([Get(), described('getNone', 'pets:read', { rejects: errorOf('pet_not_found') })]),
    ],
    // The messages of libraries.
    [
      'Nest can\'t resolve dependencies of the Pet (?). Please make sure that the argument "TOKEN"',
      NeedyModule,
    ],
    ["Method 'GET' already declared for route '/v1/lab'", moduleWith(readable, readable)],
    [
      'The error code pet_in_quarantine has two definitions, if never (409) and if never (423): rename one of them.',
      holding(409, 'removal'),
      holding(423, 'removal'),
    ],
    ['The error code internal_error has two definitions', { ...ONE, errors: errorOf('internal_error') }],
    ['The operation id getOne has two addresses', moduleWith(twice('one'), twice('other'))],
    ['Duplicate DTO detected: "Pet"', { ...ONE, events: event('one.moved', 'pets:read', Pet) }],
  ])('%s', async (sentence, ...given) => {
    const extensions = given.filter((each) => typeof each === 'object');
    const modules = given.filter((each) => typeof each === 'function');
    const message = await startApp({}, { beside: app, extensions, modules }).then(
      () => 'started',
      userMessage,
    );
    expect(message).toContain(sentence);
    // The logger is that of the whole process.
    Logger.warn('Duplicate DTO detected');
  });

  const given = (name: string, by: string, again = 'one') =>
    `the ${name} is given by ${by} and again by ${again}: rename or remove one`;

  it.each<[string, ...Extension[]]>([
    [given('extension one', 'one'), ONE, ONE],
    [given('extension pets', 'pets', 'pets'), { name: 'pets' }],
    [given('scope one:read', 'one'), { ...ONE, scopes: ['one:read', 'one:read'] }],
    [given('setting port', 'Animal Store'), { ...ONE, settings: { port: setting('MY_PORT') } }],
    [given('variable A', 'one'), { ...ONE, settings: { one: setting('A'), other: setting('A') } }],
    [given(`migration ${MIGRATION.name}`, 'one'), { ...ONE, migrations: [MIGRATION, MIGRATION] }],
    [`the name "One" of One ${FORM}`, { name: 'One' }],
    [`the name "one:읽기" of one ${FORM}`, { ...ONE, scopes: ['one:읽기'] }],
    ['the migration Map must end with its time in milliseconds', { ...ONE, migrations: [Map as never] }],
    [given('event type pet.created', 'pets', 'pet'), { name: 'pet', events: event('pet.created') }],
    ['the event type pet.sold of one must begin with "one."', { ...ONE, events: event('pet.sold') }],
    [
      'the event type one.sold needs the scope one:reed, which no extension declares',
      { ...ONE, events: event('one.sold', 'one:reed') },
    ],
    [
      `one works with animal-store ^99.0.0, and this is ${version}: install a version of one for it`,
      { ...ONE, compatibility: '^99.0.0' },
    ],
    [
      `the scope onex:read of one must begin with "one:"; ${given('setting port', 'Animal Store')}`,
      { ...ONE, scopes: ['onex:read'], settings: { port: setting('MY_PORT') } },
    ],
  ])('an extension: %s', (problems, ...extensions) => {
    expect(() => createStore(extensions)).toThrow(
      `Invalid extensions: ${problems}. Fix them and start again.`,
    );
  });

  it.each([Map, undefined, 'kennels'])('%p, which is not an extension', (each) => {
    expect(() => createStore([each as never])).toThrow(
      'is no extension: give classes with @StoreExtension({ name: …, … }), from files that do not import each other.',
    );
  });

  it('settings of an extension and of the store together', () => {
    const { settings } = createStore([kennels]);
    expect(readConfig({ KENNEL_PREFIX: 'Great-' }, settings)).toMatchObject({ kennelPrefix: 'Great-' });
    expect(() => readConfig({ PORT: 'x', KENNEL_PREFIX: 'Small' }, settings)).toThrow(
      /^Invalid settings: PORT must be .*; KENNEL_PREFIX must be one of , Great-, not "Small"\. Fix them/,
    );
  });
});
