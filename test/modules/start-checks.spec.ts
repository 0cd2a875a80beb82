import {
  Body,
  Controller,
  Get,
  ParseIntPipe,
  Post,
  Query,
  type Type,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApiOperation, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { minutes, Throttle } from '@nestjs/throttler';
import { Allow, IsString } from 'class-validator';
import { Idempotent, RequireScope, Text } from '../../src';
import { createStore } from '../../src/app/store';
import { userMessage } from '../../src/app/user-message';
import { PageQuery } from '../../src/platform/paging/page';
import { startApp, type TestApp } from '../support/app';
import {
  LAB,
  moduleOf,
  moduleWith,
  moduleWithTwo,
  twinOf,
  described,
  UnvalidatedController,
  UnvalidatedQueryController,
  Undocumented,
  UntypedController,
  UntypedListController,
  PlainController,
} from './support/faulty-modules';
import {
  NeedyOfToken,
  NeedyOfType,
  NeedyService,
  UndecoratedGuard,
  UndecoratedService,
  UntypedService,
} from './support/faulty-providers';

/** The name of a response class of the store. */
class Order {
  @Text({ max: 9, description: 'The items.', example: 'ball' })
  readonly items!: string;
}

/** The name of a query class of the store. Query classes have no schema. */
class ListPetsQuery extends PageQuery {
  @ApiPropertyOptional()
  @Allow()
  readonly colour?: string;
}

class WithReadOnly {
  @ApiProperty({ readOnly: true })
  readonly id!: string;

  @ApiProperty()
  @IsString()
  readonly name!: string;
}

/** Uses everything that the start checks allow. */
@Controller(LAB)
class SoundController {
  @Get()
  @RequireScope('pets:read')
  list(
    @Query() query: ListPetsQuery,
    @Query('page', ParseIntPipe) page: number,
    @Query('tags') _tags: string[],
  ) {
    return { query, page };
  }

  @Post()
  @RequireScope('pets:write')
  create(@Body() body: Record<string, unknown>, @Body('age', ParseIntPipe) age: number) {
    return { body, age };
  }

  @Post('read-only')
  @described('createReadOnly', 'pets:write')
  createReadOnly(@Body() body: WithReadOnly) {
    return body;
  }
}

const FIX = 'has no decorator for its value: add one, such as @Text(), or @Allow() if every value is valid.';
const NEED =
  '`idempotent: true` and @Idempotent() need each other: add the missing one, and return once((transaction) => …).';
const ttl = minutes(1);
const LIMIT = { limit: 5, ttl };
const withOptions = (options: object, name = 'default') =>
  moduleWith([Get(), RequireScope('pets:read'), Throttle({ [name]: { ...LIMIT, ...options } })]);
const NAMES = 'and a name of 1 to 20 lower-case letters other than minute and day.';

describe('the start fails with one sentence for a mistake of a module', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [moduleOf(SoundController)] });
  });
  afterAll(() => app.close());

  it.each<[string, Type]>([
    [
      'GET /v1/lab/open declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.',
      moduleWith([Get('open')]),
    ],
    [
      'GET /v1/lab/left declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.',
      moduleWith([Get('left'), described('getLeft', undefined as never)]),
    ],
    [
      `GET /v1/lab requires the scope pets:reed, which no extension declares: use one of ${createStore().scopes.join(', ')}.`,
      moduleWith([Get(), described('lookAtScope', 'pets:reed')]),
    ],
    [
      "The operation getLab is at /lab: add version: '1' to its @Controller, which adds /v1.",
      moduleWith([Get(), described('getLab', 'pets:read')], Controller({ ...LAB, version: VERSION_NEUTRAL })),
    ],
    [
      "The operation getLab2 is at /v2/lab: add version: '1' to its @Controller, which adds /v1.",
      moduleWith([Get(), described('getLab2', 'pets:read')], Controller({ ...LAB, version: '2' })),
    ],
    [
      'Invalid extensions: pets and team both have the operation listPets: change one of them. Fix them and start again.',
      moduleWith([Get(), RequireScope('pets:read'), ApiOperation({ operationId: 'listPets' })]),
    ],
    [
      'Invalid extensions: pets and team both have the route GET /v1/pets/{id}: change one of them. Fix them and start again.',
      moduleWith([Get(':id'), RequireScope('pets:read')], Controller({ path: 'pets', version: '1' })),
    ],
    [
      'Invalid extensions: orders and team both have the class Order, the schema Order: change one of each. Fix them and start again.',
      moduleWith([Get(), described('getItems', 'pets:read', [200, Order, 'An order.'])]),
    ],
    [
      'Invalid extensions: team has twice the operation getTwin: change one of them. Fix them and start again.',
      moduleWithTwo(
        [Get('one'), described('getTwin', 'pets:read')],
        [Get('two'), described('getTwin', 'pets:read')],
      ),
    ],
    [
      'Two handlers serve GET /v1/lab: change the path of one of them.',
      moduleWithTwo([Get(), RequireScope('pets:read')], [Get(), RequireScope('pets:read')]),
    ],
    [
      'Invalid extensions: team has twice the class Twin: change one of them. Fix them and start again.',
      moduleWithTwo(
        [Get('one'), described('getOne', 'pets:read', [200, twinOf('One'), 'One.'])],
        [Get('other'), described('getOther', 'pets:read', [200, twinOf('Other'), 'Another one.'])],
      ),
    ],
    [`Unvalidated.colour, in createLab, ${FIX}`, moduleOf(UnvalidatedController)],
    // It has @IsOptional() only.
    [`UnvalidatedQuery.colour, in listLab, ${FIX}`, moduleOf(UnvalidatedQueryController)],
    [
      `Undocumented.colour, in getLab3, ${FIX}`,
      moduleWith([Get(), described('getLab3', 'pets:read', [200, Undocumented, 'Something.'])]),
    ],
    [`createLab4: ${NEED}`, moduleWith([Post(), described('createLab4', 'pets:write', undefined, true)])],
    [
      `createLab5: ${NEED}`,
      moduleWith([(of, key) => Idempotent()(of, key, 0), Post(), described('createLab5', 'pets:write')]),
    ],
    [
      'createUntyped: the class of a parameter is missing at run time: import it without `type`.',
      moduleOf(UntypedController),
    ],
    [
      'listUntyped: the class of a parameter is missing at run time: import it without `type`.',
      moduleOf(UntypedListController),
    ],
    [
      'NeedyOfType: the class of a parameter is missing at run time: import it without `type`, and set emitDecoratorMetadata in tsconfig.json.',
      moduleOf(PlainController, [NeedyOfType]),
    ],
    [
      'NeedyService needs PetsService, which LabModule does not have: import the module that exports it, or add it to the providers.',
      moduleOf(PlainController, [NeedyService]),
    ],
    [
      'NeedyOfToken needs "TOKEN", which LabModule does not have: import the module that exports it, or add it to the providers.',
      moduleOf(PlainController, [NeedyOfToken]),
    ],
    [
      'Invalid extensions: UndecoratedService, in LabModule, has no types of its constructor: add @Injectable(), and set emitDecoratorMetadata in tsconfig.json. Fix them and start again.',
      moduleOf(PlainController, [UndecoratedService]),
    ],
    [
      'Invalid extensions: UntypedService, in LabModule, has no types of its constructor: add @Injectable(), and set emitDecoratorMetadata in tsconfig.json. Fix them and start again.',
      moduleOf(PlainController, [UntypedService]),
    ],
    [
      'Invalid extensions: UndecoratedGuard, in LabModule, has no types of its constructor: add @Injectable(), and set emitDecoratorMetadata in tsconfig.json. Fix them and start again.',
      moduleWith([Get(), RequireScope('pets:read'), UseGuards(UndecoratedGuard)]),
    ],
    [
      `@Throttle of LabController.get has "default" with the limit 1.5: use an integer from 1 to 1000000000, ${NAMES}`,
      withOptions({ limit: 1.5 }),
    ],
    [
      `@Throttle of LabController.get has "default" with the ttl 0: use an integer from 1 to 31622400000, ${NAMES}`,
      withOptions({ ttl: 0 }),
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
