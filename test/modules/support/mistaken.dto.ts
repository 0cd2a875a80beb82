import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Allow, IsOptional, IsString } from 'class-validator';
import { Text } from '../../../src';
import { PageQuery } from '../../../src/platform/paging/page';

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

export class WithReadOnly {
  @ApiProperty({ readOnly: true })
  readonly id!: string;

  @ApiProperty()
  @IsString()
  readonly name!: string;
}

export class UnvalidatedQuery extends PageQuery {
  @ApiPropertyOptional()
  readonly colour?: string;
}

/** The name of a response class of the store. */
export class Order {
  @Text({ max: 9, description: 'The items.', example: 'ball' })
  readonly items!: string;
}

/** The name of a query class of the store. Query classes have no schema. */
export class ListPetsQuery extends PageQuery {
  @ApiPropertyOptional()
  @Allow()
  readonly colour?: string;
}
