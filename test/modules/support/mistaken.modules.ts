import {
  applyDecorators,
  Body,
  Controller,
  Get,
  Module,
  Param,
  ParseIntPipe,
  type PipeTransform,
  Post,
  Query,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApiOperation, ApiProperty, ApiPropertyOptional, ApiResponse } from '@nestjs/swagger';
import { IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { RequireScope } from '../../../src/auth';
import { Operation } from '../../../src/platform/api-docs/operation.decorator';
import { Public } from '../../../src/platform/http/protection';
import { PageQuery } from '../../../src/platform/http/page-query';
import { Basket, ListPetsQuery } from './same-names.dto';

/** Creates a module with one controller, by default at /v1/lab. */
function moduleOf(controller: Type, path = 'lab', version: string | typeof VERSION_NEUTRAL = '1'): Type {
  Controller({ path, version })(controller);
  @Module({ controllers: [controller] })
  class LabModule {}
  return LabModule;
}

/** Creates a module with one GET route, whose handler has these decorators. */
function moduleWithRoute(
  decorators: MethodDecorator[],
  path = 'lab',
  version: string | typeof VERSION_NEUTRAL = '1',
): Type {
  class RouteController {
    @applyDecorators(...decorators)
    get() {
      return {};
    }
  }
  return moduleOf(RouteController, path, version);
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
  return moduleOf(BodyController, path);
}

export class Unvalidated {
  @ApiProperty()
  @IsString()
  readonly name!: string;

  @ApiProperty()
  readonly colour!: string;
}

export class OnlyOptional {
  @IsString()
  readonly name!: string;

  @IsOptional()
  readonly colour?: string;
}

export class WithoutValidators {
  readonly name!: string;
}

export class WithNested {
  @ApiProperty()
  @ValidateNested()
  readonly inner!: Unvalidated;
}

export class WithObject {
  @ApiProperty({ type: () => Unvalidated })
  @IsObject()
  readonly inner!: Unvalidated;
}

export class WithReadOnly {
  @ApiProperty({ readOnly: true })
  readonly id!: string;

  @ApiProperty()
  @IsString()
  readonly name!: string;
}

class UnvalidatedQuery extends PageQuery {
  @ApiPropertyOptional()
  readonly colour?: string;
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

class PathController {
  @Get(':name')
  @RequireScope('pets:read')
  get(@Param() parameters: WithoutValidators) {
    return parameters;
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

const described = (facts: { readonly id: string; readonly scope: string | [] }) =>
  Operation({
    summary: 'Do nothing',
    description: 'Never runs.',
    returns: [204, undefined, 'Nothing.'],
    ...facts,
  });

export const UndeclaredRoute = moduleWithRoute([Get('open')]);
export const UnknownScope = moduleWithRoute([Get(), described({ id: 'lookAtScope', scope: 'pets:reed' })]);
export const EmptyScopes = moduleWithRoute([Get(), described({ id: 'getNothing', scope: [] })]);
export const Unversioned = moduleWithRoute(
  [Get(), described({ id: 'getLab', scope: 'pets:read' })],
  'lab',
  VERSION_NEUTRAL,
);
export const RepeatedId = moduleWithRoute([
  Get(),
  RequireScope('pets:read'),
  ApiOperation({ operationId: 'listPets' }),
]);
/** The address of getPet, with another name of the parameter. */
export const RepeatedRoute = moduleWithRoute([Get(':id'), RequireScope('pets:read')], 'pets');
export const RenamedSchema = moduleOf(ResponseController);
export const UncheckedPath = moduleOf(PathController);
export const UncheckedQuery = moduleOf(QueryController);
export const Sound = moduleOf(SoundController);
