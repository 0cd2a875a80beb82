import {
  applyDecorators,
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Post,
  type Type,
} from '@nestjs/common';
import { minutes, Throttle } from '@nestjs/throttler';
import { version } from '../../package.json';
import { defineErrors, type Extension, Operation, parsers, RequireScope } from '../../src';
import { createStore } from '../../src/app/store';
import { userMessage } from '../../src/app/user-message';
import type { DefinedError } from '../../src/platform/errors/define-errors';
import { codesOf } from '../../src/server/openapi/codes';
import { startApp, type TestApp } from '../support/app';
import { startHere } from '../support/start';
import { kennels, Kennels1795300000000 } from './support/kennels.extension';

const errorOf = (code: string, status = 409, on?: DefinedError['on']) =>
  Object.values(defineErrors({ [code]: { status, when: 'never', message: 'Never.', ...(on && { on }) } }));
const setting = (variable: string) => ({ variable, defaultText: '', parse: parsers.text, meaning: '' });
const eventOf = (scope: string) => ({ data: Map, scope });

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

const described = (scope: string, more: object = {}) =>
  Operation({
    id: 'getLab',
    scope,
    summary: 'Do nothing',
    description: 'Never runs.',
    returns: [204, undefined, ''],
    ...more,
  });
const throttled = (options: object, name = 'default') =>
  moduleWith([
    Get(),
    RequireScope('pets:read'),
    Throttle({ [name]: { limit: 5, ttl: minutes(1), ...options } }),
  ]);
const NAMES = 'and a name of 1 to 20 lower-case letters other than minute and day.';
const UNDECLARED =
  'declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.';

@Injectable()
class NeedyService {
  constructor(@Inject('TOKEN') readonly token: string) {}
}

@Module({ providers: [NeedyService] })
class NeedyModule {}

describe('the start fails with one sentence for', () => {
  let app: TestApp;
  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());

  const failureOf = (extension: Extension): Promise<string> =>
    startApp({}, { beside: app, extensions: [extension] }).then(() => 'started', userMessage);

  it.each<[string, Type]>([
    [`GET /v1/lab/open ${UNDECLARED}`, moduleWith([Get('open')])],
    [`GET /v1/lab/left ${UNDECLARED}`, moduleWith([Get('left'), described(undefined as never)])],
    [
      `GET /v1/lab requires the scope pets:reed, which no extension declares: use one of ${createStore().scopes.join(', ')}.`,
      moduleWith([Get(), described('pets:reed')]),
    ],
    [
      'The operation getTwice has two definitions: rename one of them.',
      moduleWith(
        [Get('one'), described('pets:read', { id: 'getTwice' })],
        [Get('other'), described('pets:read', { id: 'getTwice' })],
      ),
    ],
    [
      'The error code pet_not_found of getNone has two definitions, if no animal has this id (404) and if never (409): rename one of them.',
      moduleWith([Get(), described('pets:read', { id: 'getNone', rejects: errorOf('pet_not_found') })]),
    ],
    // The work of a repeated key would run twice.
    [
      'postLab has only one of `idempotent: true` and @Idempotent(): add the other.',
      moduleWith([Post(), described('pets:read', { id: 'postLab', idempotent: true })]),
    ],
    [
      `@Throttle of LabController.one has "default" with the limit 1.5: use an integer from 1 to 1000000000, ${NAMES}`,
      throttled({ limit: 1.5 }),
    ],
    [
      `@Throttle of LabController.one has "default" with the ttl 60: use milliseconds from 1000 to 31622400000, ${NAMES}`,
      throttled({ ttl: 60 }),
    ],
    [
      `@Throttle of LabController.one has "default" with the blockDuration 0: use milliseconds from 1000 to 31622400000, ${NAMES}`,
      throttled({ blockDuration: 0 }),
    ],
    [
      `@Throttle of LabController.one has "day" with the limit 5: use an integer from 1 to 1000000000, ${NAMES}`,
      throttled({}, 'day'),
    ],
  ])('a route: %s', async (sentence, module) => {
    expect(await failureOf({ name: 'team', modules: [module] })).toBe(sentence);
  });

  it.each<[string, Extension]>([
    [
      'Nest: Error: Nest can\'t resolve dependencies of the NeedyService (?). Please make sure that the argument "TOKEN"',
      { name: 'team', modules: [NeedyModule] },
    ],
    [
      "Fastify: FastifyError [FST_ERR_DUPLICATED_ROUTE]: Method 'GET' already declared for route '/v1/lab'",
      {
        name: 'team',
        modules: [moduleWith([Get(), RequireScope('pets:read')], [Get(), RequireScope('pets:read')])],
      },
    ],
  ])('what a library rejects, with its message: %s', async (sentence, extension) => {
    expect(await failureOf(extension)).toContain(sentence.replace(/^\w+: /, ''));
  });

  // The store would print its own animals by the other class.
  it('a class with the name of one of the store', async () => {
    @Injectable()
    class Pet {}
    const events = { 'team.sold': { data: Pet, scope: 'pets:read' } };
    expect(await failureOf({ name: 'team', events })).toBe(
      'The class Pet has two definitions: rename one of them.',
    );
  });

  it.each<[string, Extension]>([
    ['has two definitions', { name: 'one', errors: errorOf('internal_error') }],
    ['has two definitions', { name: 'one', errors: errorOf('pet_not_found', 404) }],
    ['has two definitions', { name: 'one', errors: [...errorOf('own_code'), ...errorOf('own_code', 410)] }],
    ['has the status 200: use one from 400 to 599', { name: 'odd', errors: errorOf('odd_code', 200) }],
    [
      'is on updateOrdr, which is unknown: use one of getKey, listPets, ',
      { name: 'one', errors: errorOf('own_code', 409, ['getPet', 'updateOrdr']) },
    ],
    [
      'is on every bodies, which is unknown: use one of every operation, every body, ',
      { name: 'one', errors: errorOf('own_code', 409, 'every bodies' as never) },
    ],
  ])('an error code that %s', async (problem, extension) => {
    const code = extension.errors![0]!.code;
    expect(await failureOf(extension)).toMatch(`The error code ${code} ${problem}`);
  });

  it.each(['Odd', 'odd_2', 'odd__code', `o${'x'.repeat(64)}`])('the error code %s', (code) => {
    expect(() => codesOf({}, errorOf(code))).toThrow(
      `The error code ${code} is invalid: use words of a to z joined by "_", at most 64 characters.`,
    );
  });
});

describe('the start fails, before it opens the database, with one message that names', () => {
  const FORM = 'and consist of at most 100 lower-case letters, digits, dots, dashes and underscores';
  const given = (name: string, by: string, again = 'one') =>
    `the ${name} is given by ${by} and again by ${again}: rename or remove one`;

  it.each<[string, ...Extension[]]>([
    [given('extension one', 'one'), { name: 'one' }, { name: 'one' }],
    [given('extension pets', 'pets', 'pets'), { name: 'pets' }],
    [given('scope one:read', 'one'), { name: 'one', scopes: ['one:read', 'one:read'] }],
    [given('setting port', 'Animal Store'), { name: 'one', settings: { port: setting('MY_PORT') } }],
    [given('setting texts', 'Animal Store'), { name: 'one', settings: { texts: setting('TEXTS') } }],
    [
      given('variable KENNEL_PREFIX', 'one'),
      { name: 'one', settings: { a: setting('KENNEL_PREFIX'), b: setting('KENNEL_PREFIX') } },
    ],
    [
      given('variable KENNEL_PREFIX', 'kennels'),
      kennels,
      { name: 'one', settings: { prefix: setting('KENNEL_PREFIX') } },
    ],
    [
      given('migration Kennels1795300000000', 'kennels'),
      kennels,
      { name: 'one', migrations: [Kennels1795300000000] },
    ],
    [
      given('event type pet.created', 'pets', 'pet'),
      { name: 'pet', events: { 'pet.created': eventOf('pets:read') } },
    ],
    [
      given('event type webhook.test', 'Animal Store', 'webhook'),
      { name: 'webhook', events: { 'webhook.test': eventOf('pets:read') } },
    ],
    ['the name My Kennels must consist of lower-case letters, digits and dashes', { name: 'My Kennels' }],
    [
      'the scope kennelsx:read of kennels must begin with "kennels:" and consist of visible ASCII characters without quotes, commas and backslashes',
      { name: 'kennels', scopes: ['kennelsx:read'] },
    ],
    [
      // `--scopes` could not name it.
      'the scope one:a,b of one must begin with "one:" and consist of visible ASCII characters without quotes, commas and backslashes',
      { name: 'one', scopes: ['one:a,b'] },
    ],
    [
      `the event type pet.sold of one must begin with "one." ${FORM}`,
      { name: 'one', events: { 'pet.sold': eventOf('pets:read') } },
    ],
    [
      `the event type one.Sold of one must begin with "one." ${FORM}`,
      { name: 'one', events: { 'one.Sold': eventOf('pets:read') } },
    ],
    [
      'the event type one.sold needs the scope one:reed, which no extension declares',
      { name: 'one', events: { 'one.sold': eventOf('one:reed') } },
    ],
    [
      `one works with animal-store ^99.0.0, and this is ${version}: install a version of one for it`,
      { name: 'one', compatibility: '^99.0.0' },
    ],
    [
      `the name One must consist of lower-case letters, digits and dashes; ${given('setting port', 'Animal Store', 'One')}`,
      { name: 'One', settings: { port: setting('MY_PORT') } },
    ],
  ])('%s', async (problems, ...extensions) => {
    // It cannot be reached.
    const start = startHere({ DATABASE_URL: 'postgres://127.0.0.1:1/none' }, { extensions });
    await expect(start).rejects.toThrow(`Invalid extensions: ${problems}. Fix them and start again.`);
  });
});
