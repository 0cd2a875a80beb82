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

const LAB = { path: 'lab', version: '1' };

function moduleOf(controller: Type): Type {
  @Module({ controllers: [controller] })
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
      moduleWith([Get(), described('getLab', 'pets:read')], Controller('lab')),
    ],
    [
      'Two operations have the id listPets: rename one of them.',
      moduleWith([Get(), RequireScope('pets:read'), ApiOperation({ operationId: 'listPets' })]),
    ],
    [
      'Two handlers serve GET /v1/pets/:id: change the path of one of them.',
      moduleWith([Get(':id'), RequireScope('pets:read')], Controller({ path: 'pets', version: '1' })),
    ],
    [`Unvalidated.colour, in createLab, ${FIX}`, moduleOf(UnvalidatedController)],
    // It has @IsOptional() only.
    [`UnvalidatedQuery.colour, in listLab, ${FIX}`, moduleOf(UnvalidatedQueryController)],
    [
      'Two response classes have the name Order, one in listOrders and one in getItems: rename one of them.',
      moduleWith([Get(), described('getItems', 'pets:read', [200, Order, 'An order.'])]),
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
