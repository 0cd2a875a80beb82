import { Body, Controller, Get, Module, Post, Query } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsDate,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  Min,
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

class PlainPrice {
  @ApiProperty()
  @IsInt()
  @Max(10)
  readonly price!: number;
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

  @Post('plain')
  @RequireScope('pets:write')
  plain(@Body() body: PlainPrice) {
    return { body };
  }

  @Get()
  @RequireScope('pets:read')
  list(@Query() query: VisitsQuery) {
    return { query };
  }
}

/** A module whose DTOs have Nest's usual decorators. */
@Module({ controllers: [VisitsController] })
export class VisitsModule {}
