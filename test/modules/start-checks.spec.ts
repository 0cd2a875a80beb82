import type { Type } from '@nestjs/common';
import { minutes, Throttle } from '@nestjs/throttler';
import { createStore } from '../../src/app/store';
import { userMessage } from '../../src/app/user-message';
import { startApp, type TestApp } from '../support/app';
import { OnlyOptional, Unvalidated, WithReadOnly } from './support/mistaken.dto';
import {
  labWith,
  moduleWithBody,
  RepeatedId,
  RepeatedResponse,
  RepeatedRoute,
  Sound,
  UncheckedQuery,
  UndeclaredRoute,
  UnknownScope,
  Unversioned,
} from './support/mistaken.modules';

const FIX = 'has no decorator for its value: add one, such as @Text(), or @Allow() if every value is valid.';
const ACCEPTED = [Sound, moduleWithBody(WithReadOnly, 'read-only')];

const ttl = minutes(1);
const LIMIT = { limit: 5, ttl };
const withOptions = (options: object, name = 'default') =>
  labWith(Throttle({ [name]: { ...LIMIT, ...options } }));
const NAMES = 'and a name of 1 to 20 lower-case letters other than minute and day.';

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
      `Unvalidated.colour, in createUnvalidated, ${FIX}`,
    ],
    [
      'a property with @IsOptional() only',
      moduleWithBody(OnlyOptional),
      `OnlyOptional.colour, in createOnlyOptional, ${FIX}`,
    ],
    ['a query parameter without a validator', UncheckedQuery, `UnvalidatedQuery.colour, in listLab, ${FIX}`],
    [
      'a response class with the name of another',
      RepeatedResponse,
      'Two response classes have the name Order, one in listOrders and one in getItems: rename one of them.',
    ],
    [
      'a limit that is not an integer',
      withOptions({ limit: 1.5 }),
      `@Throttle of LabController.get has "default" with the limit 1.5: use an integer from 1 to 1000000000, ${NAMES}`,
    ],
    [
      'a ttl that is a function',
      withOptions({ ttl: Date.now }),
      `@Throttle of LabController.get has "default" with the ttl function now() { [native code] }: use an integer from 1 to 31622400000, ${NAMES}`,
    ],
    [
      'the name of a window of the plan',
      withOptions({}, 'day'),
      `@Throttle of LabController.get has "day" with the limit 5: use an integer from 1 to 1000000000, ${NAMES}`,
    ],
  ])('%s', async (_what, module, sentence) => {
    const started = startApp({}, { beside: app, modules: [module].flat() });
    expect(await started.then(() => 'started', userMessage)).toBe(sentence);
  });

  it('accepts plain types, parameters with a pipe, @Allow(), and any name of a query class', async () => {
    expect((await app.get('/v1/lab?page=2&colour=red')).json).toEqual({
      query: { limit: 20, colour: 'red' },
      page: 2,
    });
  });
});
