import {
  applyDecorators,
  Body,
  Controller,
  Get,
  Module,
  ParseIntPipe,
  type PipeTransform,
  Post,
  Query,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import { Throttle } from '@nestjs/throttler';
import { RequireScope } from '../../../src/auth';
import { Operation } from '../../../src/platform/api-docs/operation.decorator';
import { Public } from '../../../src/platform/http/protection';
import { Basket, ListPetsQuery, UnvalidatedQuery } from './mistaken.dto';

const LIMIT = { limit: 5, ttl: 60_000 };

interface Place {
  readonly path?: string;
  readonly version?: string | typeof VERSION_NEUTRAL;
  readonly controller?: ClassDecorator;
}

/** Creates a module with one controller, by default at /v1/lab. */
function moduleOf(type: Type, { path = 'lab', version = '1', controller = () => undefined }: Place = {}) {
  Controller({ path, version })(type);
  controller(type);
  @Module({ controllers: [type] })
  class LabModule {}
  return LabModule;
}

/** Creates a module with one GET route, whose handler has these decorators. */
function moduleWithRoute(decorators: MethodDecorator[], place?: Place): Type {
  class LabController {
    @applyDecorators(...decorators)
    get() {
      return {};
    }
  }
  return moduleOf(LabController, place);
}

/** Creates a module with one route at /v1/lab, whose handler and controller have these decorators. */
export function labWith(method: MethodDecorator, controller?: ClassDecorator): Type {
  return moduleWithRoute([Get(), RequireScope('pets:read'), method], controller && { controller });
}

/** Creates a module with one POST route that takes this body, by default at /v1/lab. */
export function moduleWithBody(type: Type, pipes: PipeTransform[] = [], path = 'lab'): Type {
  class BodyController {
    @Post()
    @ApiOperation({ operationId: path })
    @RequireScope('pets:write')
    create(@Body(...pipes) body: unknown) {
      return body;
    }
  }
  Reflect.defineMetadata('design:paramtypes', [type], BodyController.prototype, 'create');
  return moduleOf(BodyController, { path });
}

class ResponseController {
  @Get()
  @Public()
  @ApiResponse({ status: 200, type: Basket })
  get() {
    return {};
  }
}

class QueryController {
  @Get()
  @RequireScope('pets:read')
  list(@Query() query: UnvalidatedQuery) {
    return query;
  }
}

/** Uses everything that the start checks allow. */
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
}

const described = (id: string, scope: string) =>
  Operation({
    id,
    scope,
    summary: 'Do nothing',
    description: 'Never runs.',
    returns: [204, undefined, 'Nothing.'],
  });

export const UndeclaredRoute = moduleWithRoute([Get('open')]);
export const UnknownScope = moduleWithRoute([Get(), described('lookAtScope', 'pets:reed')]);
export const Unversioned = moduleWithRoute([Get(), described('getLab', 'pets:read')], {
  version: VERSION_NEUTRAL,
});
export const RepeatedId = labWith(ApiOperation({ operationId: 'listPets' }));
/** The address of getPet, with another name of the parameter. */
export const RepeatedRoute = moduleWithRoute([Get(':id'), RequireScope('pets:read')], { path: 'pets' });
export const RenamedSchema = moduleOf(ResponseController);
export const UncheckedQuery = moduleOf(QueryController);
export const Sound = moduleOf(SoundController);

/** Two controllers with one name. The windows of their routes would be the same. */
export const SAME_NAMES = ['north', 'south'].map((path) =>
  moduleWithRoute(
    [Get(), ApiOperation({ operationId: path }), RequireScope('pets:read'), Throttle({ default: LIMIT })],
    { path },
  ),
);
