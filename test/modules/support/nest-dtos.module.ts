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
import {
  IsArray,
  IsBoolean,
  IsDate,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Min,
  MinLength,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { Int64, RequireScope } from '../../../src';

class Address {
  @ApiProperty()
  @IsString()
  readonly street!: string;

  @ApiProperty()
  @IsInt()
  @Min(1)
  readonly number!: number;

  @Int64({ description: 'Cadastre.', example: 1 })
  readonly cadastre!: bigint;
}

class NewVisit {
  @ApiProperty()
  @IsInt()
  @Min(0)
  readonly price!: number;

  @ApiProperty()
  @IsNumber()
  readonly weight!: number;

  @ApiProperty()
  @ValidateNested()
  @Type(() => Address)
  readonly address!: Address;

  @ApiPropertyOptional()
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Address)
  readonly stops?: Address[];

  @ApiPropertyOptional()
  @IsOptional()
  @Transform(({ value }) => (typeof value === 'string' ? value.trim() : value))
  @IsString()
  readonly note?: string;

  @ApiPropertyOptional()
  @IsOptional()
  @Type(() => Date)
  @IsDate()
  readonly at?: Date;
}

class VisitsQuery {
  @ApiPropertyOptional()
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  readonly floor?: number;

  @ApiPropertyOptional()
  @IsOptional()
  @Transform(({ value }) => value === 'true')
  @IsBoolean()
  readonly open?: boolean;
}

/** Types as the handler sees them, because JSON has no bigint. */
const described = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each)));

@Controller({ path: 'visits', version: '1' })
class VisitsController {
  @Post()
  @RequireScope('pets:write')
  create(@Body() visit: NewVisit) {
    const { address, stops = [], at } = visit;
    const classes = [address, ...stops, at].map((each) => each?.constructor.name);
    return { visit: described(visit), classes };
  }

  @Get()
  @RequireScope('pets:read')
  list(@Query() query: VisitsQuery) {
    return { query };
  }
}

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

/** A module whose DTOs have Nest's usual decorators, and further ones of class-validator and class-transformer. */
@Module({ controllers: [VisitsController, ConversionsController] })
export class NestDtosModule {}
