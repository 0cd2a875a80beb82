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
  SAME_NAMES,
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

  it('accepts plain types, parameters with a pipe, @Allow(), and any name of a query class', async () => {
    expect((await app.get('/v1/lab?page=2&colour=red')).json).toEqual({
      query: { limit: 20, colour: 'red' },
      page: 2,
    });
  });
});
