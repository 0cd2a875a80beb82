import {
  applyDecorators,
  Body,
  Controller,
  createParamDecorator,
  Get,
  Module,
  Post,
  Query,
  type Type,
} from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { Operation, Text } from '../../../src';
import type { OperationFacts } from '../../../src/platform/api-docs/operation.decorator';
import { PageQuery } from '../../../src/platform/paging/page';

export const LAB = { path: 'lab', version: '1' };

export function moduleOf(controller: Type, providers: Type[] = []): Type {
  @Module({ controllers: [controller], providers })
  class LabModule {}
  return LabModule;
}

/** Creates a module with one route, whose handler has these decorators. */
export function moduleWith(decorators: MethodDecorator[], controller = Controller(LAB)): Type {
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
export function moduleWithTwo(one: MethodDecorator[], other: MethodDecorator[]): Type {
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
export function twinOf(description: string): Type {
  class Twin {
    @Text({ max: 9, description, example: 'ball' })
    readonly items!: string;
  }
  return Twin;
}

export const described = (
  id: string,
  scope: string,
  returns: OperationFacts['returns'] = [204, undefined, 'Nothing.'],
  idempotent?: true,
) =>
  Operation({
    id,
    scope,
    summary: 'Do nothing',
    description: 'Never runs.',
    returns,
    ...(idempotent && { idempotent }),
  });

class Unvalidated {
  @ApiProperty()
  @IsString()
  readonly name!: string;

  @ApiProperty()
  readonly colour!: string;
}

@Controller(LAB)
export class UnvalidatedController {
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
export class UnvalidatedQueryController {
  @Get()
  @described('listLab', 'pets:read')
  list(@Query() query: UnvalidatedQuery) {
    return query;
  }
}

class Listed {
  @Text({ max: 9, description: 'The name.', example: 'ball' })
  readonly name!: string;
}

const Callback = createParamDecorator(() => () => undefined);

@Controller(LAB)
export class UntypedListController {
  @Get()
  @described('listUntyped', 'pets:read', [200, [Listed], 'Names.'])
  @Reflect.metadata('design:paramtypes', [Function])
  list(@Query() query: PageQuery) {
    return query;
  }
}

export class Undocumented {
  @Text({ max: 9, description: 'The name.', example: 'ball' })
  readonly name!: string;

  readonly colour!: string;
}

/** Its classes are imported by `import type`: TypeScript then emits `Function`. */
@Controller(LAB)
export class UntypedController {
  // The type of another parameter may be a function.
  @Get('sound')
  @described('getSound', 'pets:read')
  @Reflect.metadata('design:paramtypes', [Function])
  sound(@Callback() callback: () => void) {
    callback();
  }

  @Post()
  @described('createUntyped', 'pets:write')
  @Reflect.metadata('design:paramtypes', [Function])
  create(@Body() body: Unvalidated) {
    return body;
  }
}

@Controller(LAB)
export class PlainController {}
