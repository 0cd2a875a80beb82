import {
  Body,
  Controller,
  Get,
  GoneException,
  Module,
  Param,
  ParseIntPipe,
  Post,
  Query,
} from '@nestjs/common';
import { Expose, Transform, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsDate,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Min,
  Validate,
  ValidateIf,
  ValidateNested,
  ValidatorConstraint,
} from 'class-validator';
import { Int64, RequireScope } from '../../../src';

class Address {
  @IsString()
  readonly street!: string;

  @IsInt()
  @Min(1)
  readonly number!: number;

  @Int64({ description: 'Cadastre.', example: 1 })
  readonly cadastre!: bigint;
}

class NewVisit {
  @IsInt()
  @Min(0)
  readonly price!: number;

  @IsNumber()
  readonly weight!: number;

  @ValidateNested()
  @Type(() => Address)
  readonly address!: Address;

  @IsOptional()
  @ArrayMaxSize(3)
  @ValidateNested({ each: true })
  @Type(() => Address)
  readonly stops?: Address[];

  @IsOptional()
  @Type(() => Date)
  @IsDate()
  readonly at?: Date;
}

class VisitsQuery {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  readonly floor?: number;
}

@ValidatorConstraint({ async: true })
class IsFree {
  validate = (place: number) => Promise.resolve(place === 7);
  defaultMessage = () => 'place must be free';
}

/** Has functions that fail for some values, as in many examples. */
class Converted {
  @IsOptional()
  @Validate(IsFree)
  readonly place?: number;

  @IsOptional()
  @Transform(({ value }) => value.trim())
  @IsString()
  readonly trimmed?: string;

  @IsOptional()
  @Transform(() => {
    throw new GoneException('Banned since March.');
  })
  @IsString()
  readonly banned?: string;

  @IsOptional()
  @Expose({ name: 'first_name' })
  @IsString()
  readonly firstName?: string;

  @ValidateIf(({ size }: Converted) => size?.unit.isKnown ?? false)
  @IsObject()
  readonly size?: { readonly unit: { readonly isKnown: boolean } };
}

class ById {
  @Int64({ description: 'Number.', example: 1 })
  readonly id!: bigint;
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

  @Post('converted')
  @RequireScope('pets:write')
  convert(@Body() body: Converted) {
    return body;
  }

  @Post('anything')
  @RequireScope('pets:write')
  keep(@Body() body: unknown, @Body('number', ParseIntPipe) number: number) {
    return { body, number };
  }

  @Get()
  @RequireScope('pets:read')
  list(@Query() query: VisitsQuery) {
    return query;
  }

  @Get(':id')
  @RequireScope('pets:read')
  find(@Param() path: ById, @Query() query: ById) {
    return described({ path, query });
  }
}

/** A module whose DTOs have the decorators of Nest's documentation, and further ones of class-validator and class-transformer. */
@Module({ controllers: [VisitsController] })
export class NestDtosModule {}
