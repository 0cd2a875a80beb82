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

  it.each<[string, Type]>([
    [
      'GET /v1/lab/open declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.',
      UndeclaredRoute,
    ],
    [
      `GET /v1/lab requires the scope pets:reed, which no extension declares: use one of ${createStore().scopes.join(', ')}.`,
      UnknownScope,
    ],
    ["The operation getLab is at /lab: add version: '1' to its @Controller, which adds /v1.", Unversioned],
    ['Two operations have the id listPets: rename one of them.', RepeatedId],
    ['Two handlers serve GET /v1/pets/:id: change the path of one of them.', RepeatedRoute],
    [`Unvalidated.colour, in createUnvalidated, ${FIX}`, moduleWithBody(Unvalidated)],
    // It has @IsOptional() only.
    [`OnlyOptional.colour, in createOnlyOptional, ${FIX}`, moduleWithBody(OnlyOptional)],
    [`UnvalidatedQuery.colour, in listLab, ${FIX}`, UncheckedQuery],
    [
      'Two response classes have the name Order, one in listOrders and one in getItems: rename one of them.',
      RepeatedResponse,
    ],
    [
      `@Throttle of LabController.get has "default" with the limit 1.5: use an integer from 1 to 1000000000, ${NAMES}`,
      withOptions({ limit: 1.5 }),
    ],
    [
      `@Throttle of LabController.get has "default" with the ttl function now() { [native code] }: use an integer from 1 to 31622400000, ${NAMES}`,
      withOptions({ ttl: Date.now }),
    ],
    [
      `@Throttle of LabController.get has "day" with the limit 5: use an integer from 1 to 1000000000, ${NAMES}`,
      withOptions({}, 'day'),
    ],
  ])('%s', async (sentence, module) => {
    const started = startApp({}, { beside: app, modules: [module] });
    expect(await started.then(() => 'started', userMessage)).toBe(sentence);
  });

  it('accepts plain types, parameters with a pipe, @Allow(), and any name of a query class', async () => {
    expect((await app.get('/v1/lab?page=2&colour=red')).json).toEqual({
      query: { limit: 20, colour: 'red' },
      page: 2,
    });
  });
});
