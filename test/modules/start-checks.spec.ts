import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { minutes, Throttle } from '@nestjs/throttler';
import { ERROR_BODIES } from '../../src/platform/errors/error.dto';
import { checkModules } from '../../src/app/start-checks/check-modules';
import { handlersOf } from '../../src/app/start-checks/handlers';
import { requireSchemaNames } from '../../src/app/start-checks/schema-names';
import { createStore } from '../../src/app/store';
import { userMessage } from '../../src/app/user-message';
import { startApp, type TestApp } from '../support/app';
import {
  OnlyOptional,
  NewOrder,
  Unvalidated,
  WithAsyncFunction,
  WithAsyncValidator,
  WithNested,
  WithObject,
  WithOtherStatus,
  WithoutValidators,
  WithReadOnly,
  WithSubType,
} from './support/mistaken.dto';
import {
  labWith,
  moduleWithBody,
  RenamedSchema,
  RepeatedId,
  RepeatedRoute,
  SAME_NAMES,
  Sound,
  UncheckedQuery,
  UndeclaredRoute,
  UnknownScope,
  Unversioned,
} from './support/mistaken.modules';
import { UserError } from '../../src/platform/errors/user-error';

const FIX =
  'add a decorator of class-validator to each property, such as @IsString(), or @Allow() if every value is valid.';
const PIPE = { transform: (value: unknown) => value };
const ACCEPTED = [
  Sound,
  moduleWithBody(WithoutValidators, [PIPE], 'piped'),
  moduleWithBody(Array, [PIPE], 'list'),
  moduleWithBody(WithReadOnly, [], 'read-only'),
];

const ttl = minutes(1);
const LIMIT = { limit: 5, ttl };
const withOptions = (options: object, name = 'default') =>
  labWith(Throttle({ [name]: { ...LIMIT, ...options } }));
const FIVE_NAMES = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, LIMIT]));

describe('the start fails with one sentence for a mistake of a module', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: ACCEPTED });
  });
  afterAll(() => app.close());

  it.each<[string, Type | Type[], string]>([
    [
      'a route that declares no scope and is not public',
      UndeclaredRoute,
      'GET /v1/lab/open declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.',
    ],
    [
      'a route with an unknown scope',
      UnknownScope,
      `GET /v1/lab requires the scope pets:reed, which no extension declares: use one of ${createStore().scopes.join(', ')}.`,
    ],
    [
      'an operation outside /v1',
      Unversioned,
      "The operation getLab is at /lab: add version: '1' to its @Controller, which adds /v1.",
    ],
    [
      'an operation with the id of an operation of the store',
      RepeatedId,
      'Two operations have the id listPets: rename one of them.',
    ],
    [
      'a route of the store',
      RepeatedRoute,
      'Two handlers serve GET /v1/pets/:id: change the path of one of them.',
    ],
    [
      'a documented property without a validator',
      moduleWithBody(Unvalidated),
      `Unvalidated.colour, in the body of BodyController.create, is not validated: ${FIX}`,
    ],
    [
      'a limit that is not an integer',
      withOptions({ limit: 1.5 }),
      'The limit of "default" in @Throttle of LabController.get is 1.5: use an integer from 1 to 1000000000.',
    ],
    [
      'a ttl that is a function',
      withOptions({ ttl: Date.now }),
      'The ttl of "default" in @Throttle of LabController.get is function now() { [native code] }: use an integer from 1 to 31622400000.',
    ],
    [
      'the name of a window of the plan',
      withOptions({}, 'day'),
      'The name "day" in @Throttle of LabController.get is invalid: use 1 to 20 lower-case letters, and not minute or day.',
    ],
    [
      'more limits than the headers can show',
      labWith(Throttle(FIVE_NAMES)),
      '@Throttle adds 5 limits to LabController.get: use at most 4.',
    ],
    [
      'two handlers of one name with limits',
      SAME_NAMES,
      'Two handlers with @Throttle have the name LabController.get: rename one of them.',
    ],
  ])('%s', async (_what, module, sentence) => {
    const started = startApp({}, { beside: app, modules: [module].flat() });
    expect(await started.then(() => 'started', userMessage)).toBe(sentence);
  });

  it.each<[string, Type, string]>([
    [
      'a body with the name and the properties of a DTO of the store',
      moduleWithBody(NewOrder),
      'Two DTO classes have the schema name NewOrder, one in StoreOrdersController.placeOrder and one in BodyController.create: rename one of them.',
    ],
    [
      'a response whose @ApiSchema has the name of another schema',
      RenamedSchema,
      'Two DTO classes have the schema name Order, one in StoreOrdersController.listOrders and one in ResponseController.get: rename one of them.',
    ],
    [
      'a property with @IsOptional() only',
      moduleWithBody(OnlyOptional, [PIPE]),
      `OnlyOptional.colour, in the body of BodyController.create, is not validated: ${FIX}`,
    ],
    [
      'a query parameter without a validator',
      UncheckedQuery,
      `UnvalidatedQuery.colour, in the query of QueryController.list, is not validated: ${FIX}`,
    ],
    [
      'a body without any validator',
      moduleWithBody(WithoutValidators),
      `WithoutValidators, the body of BodyController.create, has no validators: ${FIX}`,
    ],
    [
      '@ValidateNested() without @Type()',
      moduleWithBody(WithNested),
      'WithNested.inner, in the body of BodyController.create, is an object that is not validated: add @ValidateNested() and @Type(() => …) with its class.',
    ],
    [
      'an object whose properties nothing validates',
      moduleWithBody(WithObject),
      'WithObject.inner, in the body of BodyController.create, is an object that is not validated: add @ValidateNested() and @Type(() => …) with its class.',
    ],
    [
      'an asynchronous validator',
      moduleWithBody(WithAsyncValidator),
      'WithAsyncValidator.name, in the body of BodyController.create, has an asynchronous validator, which would not run: do that check in the service.',
    ],
    [
      'a validator that is an async function',
      moduleWithBody(WithAsyncFunction),
      'WithAsyncFunction.name, in the body of BodyController.create, has an asynchronous validator, which would not run: do that check in the service.',
    ],
    [
      'a property without a validator in a class of a discriminator',
      moduleWithBody(WithSubType),
      `Dog.tricks, in the body of BodyController.create, is not validated: ${FIX}`,
    ],
    [
      'a choice with the name of a choice of the store and other values',
      moduleWithBody(WithOtherStatus),
      'Two schemas have the name PetStatus, one in PetsController.listPets and one in BodyController.create: rename one of them.',
    ],
    [
      'a body that is an array',
      moduleWithBody(Array),
      "Nothing validates the items of the body of BodyController.create: use Nest's ParseArrayPipe for the array.",
    ],
  ])('%s', async (_what, module, sentence) => {
    const context = await NestFactory.createApplicationContext(module, { logger: false });
    const added = handlersOf(context as NestFastifyApplication);
    const check = () => checkModules([...handlersOf(app.nest), ...added]);
    expect(check).toThrow(new UserError(sentence));
  });

  it('accepts plain types, parameters and bodies with a pipe, @Allow(), and any name of a query class', async () => {
    expect((await app.get('/v1/lab?page=2&colour=red')).json).toEqual({
      query: { limit: 20, colour: 'red' },
      page: 2,
    });
  });

  it('knows the definition of every schema in the document', async () => {
    const { schemas } = (await app.get('/openapi.json', { key: undefined })).json.components;
    const known = requireSchemaNames(handlersOf(app.nest), ERROR_BODIES);
    expect([...known.keys()].sort()).toEqual(Object.keys(schemas).sort());
  });
});
