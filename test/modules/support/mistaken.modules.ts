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
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { RequireScope } from '../../../src/auth';
import { Operation, type OperationFacts } from '../../../src/platform/api-docs/operation.decorator';
import { ListPetsQuery, Order, UnvalidatedQuery } from './mistaken.dto';

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
export function moduleWithBody(type: Type, path = 'lab'): Type {
  class BodyController {
    @Post()
    create(@Body() body: unknown) {
      return body;
    }
  }
  const { prototype } = BodyController;
  Reflect.defineMetadata('design:paramtypes', [type], prototype, 'create');
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'create')!;
  described(`create${type.name}`, 'pets:write')(prototype, 'create', descriptor);
  return moduleOf(BodyController, { path });
}

const described = (
  id: string,
  scope: string,
  returns: OperationFacts['returns'] = [204, undefined, 'Nothing.'],
) => Operation({ id, scope, summary: 'Do nothing', description: 'Never runs.', returns });

class QueryController {
  @Get()
  @described('listLab', 'pets:read')
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

export const UndeclaredRoute = moduleWithRoute([Get('open')]);
export const UnknownScope = moduleWithRoute([Get(), described('lookAtScope', 'pets:reed')]);
export const Unversioned = moduleWithRoute([Get(), described('getLab', 'pets:read')], {
  version: VERSION_NEUTRAL,
});
export const RepeatedId = labWith(ApiOperation({ operationId: 'listPets' }));
/** The address of getPet, with another name of the parameter. */
export const RepeatedRoute = moduleWithRoute([Get(':id'), RequireScope('pets:read')], { path: 'pets' });
export const RepeatedResponse = moduleWithRoute([
  Get(),
  described('getItems', 'pets:read', [200, Order, 'An order.']),
]);
export const UncheckedQuery = moduleOf(QueryController);
export const Sound = moduleOf(SoundController);
