import {
  Body,
  Controller,
  createParamDecorator,
  Get,
  GoneException,
  Module,
  Param,
  ParseIntPipe,
  Post,
  Query,
} from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Expose, Transform, Type } from 'class-transformer';
import { IsObject, IsOptional, IsString, MinLength, ValidateIf, ValidateNested } from 'class-validator';
import { Int64, RequireScope } from '../../../src';

/** Throws for a value that is not a text, as in many examples. */
class Trimmed {
  @ApiProperty()
  @Transform(({ value }) => value.trim())
  @IsString()
  readonly name!: string;
}

class Banned {
  @ApiProperty()
  @Transform(() => {
    throw new GoneException('Banned since March.');
  })
  @IsString()
  readonly name!: string;
}

class Renamed {
  @ApiProperty({ name: 'first_name' })
  @Expose({ name: 'first_name' })
  @IsString()
  readonly firstName!: string;

  @ApiPropertyOptional()
  @IsOptional()
  @Transform(({ obj }: { obj: Record<string, string> }) => `${obj['first_name']} ${obj['last_name']}`)
  @IsString()
  readonly fullName?: string;
}

class Conditional {
  @ApiPropertyOptional()
  @IsOptional()
  @IsObject()
  readonly size?: { readonly isKnown: boolean };

  @ApiProperty()
  @ValidateIf(({ size }: Conditional) => size!.isKnown)
  @MinLength(2)
  readonly unit!: string;
}

class ById {
  @Int64({ description: 'Number.', example: 1 })
  readonly id!: bigint;
}

class Chipped {
  @IsString()
  readonly kind!: string;
}

class Numbered extends Chipped {
  @Int64({ description: 'Number.', example: 1 })
  readonly chip!: bigint;
}

class Owned {
  @ApiProperty()
  @ValidateNested()
  @Type(() => Chipped, {
    keepDiscriminatorProperty: true,
    discriminator: { property: 'kind', subTypes: [{ value: Numbered, name: 'numbered' }] },
  })
  readonly animal!: Chipped;
}

class Visitor {
  @IsString()
  readonly name = 'Ada';

  readonly secret?: string;
}

const CurrentVisitor = createParamDecorator(() => Object.assign(new Visitor(), { secret: 'kept' }));

@Controller({ path: 'conversions', version: '1' })
class ConversionsController {
  @Post('trimmed')
  @RequireScope('pets:write')
  trim(@Body() body: Trimmed) {
    return body;
  }

  @Post('banned')
  @RequireScope('pets:write')
  ban(@Body() body: Banned) {
    return body;
  }

  @Post('renamed')
  @RequireScope('pets:write')
  rename(@Body() body: Renamed) {
    return body;
  }

  @Post('conditional')
  @RequireScope('pets:write')
  measure(@Body() body: Conditional) {
    return body;
  }

  @Post('owned')
  @RequireScope('pets:write')
  own(@Body() { animal }: Owned) {
    return animal instanceof Numbered ? { chip: String(animal.chip + 1n) } : animal;
  }

  @Post('number')
  @RequireScope('pets:write')
  count(@Body('number', ParseIntPipe) number: number) {
    return { number };
  }

  @Post('anything')
  @RequireScope('pets:write')
  keep(@Body() body: unknown) {
    return body;
  }

  @Get('visitor')
  @RequireScope('pets:read')
  visitor(@CurrentVisitor() visitor: Visitor) {
    return visitor;
  }

  @Get(':id')
  @RequireScope('pets:read')
  find(@Param() path: ById, @Query() query: ById) {
    return { path: String(path.id + 1n), query: String(query.id + 1n) };
  }
}

/** A module whose DTOs use further decorators of class-validator and class-transformer. */
@Module({ controllers: [ConversionsController] })
export class ConversionsModule {}
