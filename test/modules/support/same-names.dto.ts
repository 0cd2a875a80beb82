import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { Allow, IsInt } from 'class-validator';
import { PageQuery } from '../../../src/platform/http/page-query';

/** The name of a DTO of the store, with the same properties. */
export class NewOrder {
  @ApiProperty()
  @IsInt()
  readonly petId!: bigint;
}

class Item {
  @ApiProperty()
  readonly petId!: string;
}

/** The schema name of a DTO of the store. */
@ApiSchema({ name: 'Order' })
export class Basket {
  @ApiProperty({ type: () => [Item] })
  readonly items!: Item[];
}

/** The name of a query class of the store. Query classes have no schema. */
export class ListPetsQuery extends PageQuery {
  @ApiPropertyOptional()
  @Allow()
  readonly colour?: string;
}
