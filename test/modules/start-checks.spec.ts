import {
  applyDecorators,
  Body,
  Controller,
  Get,
  Module,
  ParseIntPipe,
  Post,
  Query,
  type Type,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApiOperation, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { minutes, Throttle } from '@nestjs/throttler';
import { Allow, IsOptional, IsString } from 'class-validator';
import { Operation, RequireScope, Text } from '../../src';
import type { OperationFacts } from '../../src/platform/api-docs/operation.decorator';
import { createStore } from '../../src/app/store';
import { userMessage } from '../../src/app/user-message';
import { PageQuery } from '../../src/platform/paging/page';
import { startApp, type TestApp } from '../support/app';
import {
  NeedyOfToken,
  NeedyOfType,
  NeedyService,
  UndecoratedGuard,
  UndecoratedService,
} from './support/faulty-providers';

const LAB = { path: 'lab', version: '1' };

function moduleOf(controller: Type, providers: Type[] = []): Type {
  @Module({ controllers: [controller], providers })
  class LabModule {}
  return LabModule;
}

/** Creates a module with one route, whose handler has these decorators. */
function moduleWith(decorators: MethodDecorator[], controller = Controller(LAB)): Type {
  @controller
  class LabController {
    @applyDecorators(...decorators)
    get() {
      return {};
    }
  }
  return moduleOf(LabController);
}

/** Creates a module with two routes. */
function moduleWithTwo(one: MethodDecorator[], other: MethodDecorator[]): Type {
  @Controller(LAB)
  class LabController {
    @applyDecorators(...one)
    one() {
      return {};
    }

    @applyDecorators(...other)
    other() {
      return {};
    }
  }
  return moduleOf(LabController);
}

/** Creates a class whose name each of them has. */
function twinOf(description: string): Type {
  class Twin {
    @Text({ max: 9, description, example: 'ball' })
    readonly items!: string;
  }
  return Twin;
}

const described = (
  id: string,
  scope: string,
  returns: OperationFacts['returns'] = [204, undefined, 'Nothing.'],
) => Operation({ id, scope, summary: 'Do nothing', description: 'Never runs.', returns });

class Unvalidated {
  @ApiProperty()
  @IsString()
  readonly name!: string;

  @ApiProperty()
  readonly colour!: string;
}

@Controller(LAB)
class UnvalidatedController {
  @Post()
  @described('createLab', 'pets:write')
  create(@Body() body: Unvalidated) {
    return body;
  }
}

class UnvalidatedQuery extends PageQuery {
  @ApiPropertyOptional()
  @IsOptional()
  readonly colour?: string;
}

@Controller(LAB)
class UnvalidatedQueryController {
  @Get()
  @described('listLab', 'pets:read')
  list(@Query() query: UnvalidatedQuery) {
    return query;
  }
}

class Undocumented {
  @Text({ max: 9, description: 'The name.', example: 'ball' })
  readonly name!: string;

  readonly colour!: string;
}

/** Its body class is imported by `import type`: TypeScript then emits `Function`. */
@Controller(LAB)
class UntypedController {
  @Post()
  @described('createUntyped', 'pets:write')
  @Reflect.metadata('design:paramtypes', [Function])
  create(@Body() body: Unvalidated) {
    return body;
  }
}

@Controller(LAB)
class PlainController {}

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
      'Invalid extensions: orders and team both have the response class Order, the schema Order: change one of each. Fix them and start again.',
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
      'Invalid extensions: team has twice the response class Twin: change one of them. Fix them and start again.',
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
    [
      'createUntyped: the class of the body is missing at run time: import it without `type`.',
      moduleOf(UntypedController),
    ],
    [
      'NeedyOfType: the class of a parameter is missing at run time: import it without `type`.',
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
      'Invalid extensions: UndecoratedService, in LabModule, has no @Injectable(): add it, so that NestJS knows what its constructor needs. Fix them and start again.',
      moduleOf(PlainController, [UndecoratedService]),
    ],
    [
      'Invalid extensions: UndecoratedGuard, in LabModule, has no @Injectable(): add it, so that NestJS knows what its constructor needs. Fix them and start again.',
      moduleWith([Get(), RequireScope('pets:read'), UseGuards(UndecoratedGuard)]),
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
