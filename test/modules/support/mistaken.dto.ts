import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  Allow,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Validate,
  ValidateNested,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { OneOf } from '../../../src';
import { PageQuery } from '../../../src/platform/http/page';

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

export class UnvalidatedQuery extends PageQuery {
  @ApiPropertyOptional()
  readonly colour?: string;
}

@ValidatorConstraint({ async: true })
class IsUnique implements ValidatorConstraintInterface {
  validate(): Promise<boolean> {
    return Promise.resolve(false);
  }
}

@ValidatorConstraint()
class IsFree implements ValidatorConstraintInterface {
  async validate(): Promise<boolean> {
    return await Promise.resolve(false);
  }
}

export class WithAsyncValidator {
  @ApiProperty()
  @IsString()
  @Validate(IsUnique)
  readonly name!: string;
}

export class WithAsyncFunction {
  @ApiProperty()
  @Validate(IsFree)
  readonly name!: string;
}

class Cat {
  @IsString()
  readonly name!: string;
}

class Dog extends Cat {
  @ApiProperty()
  readonly tricks!: string;
}

/** The discriminator names a class with a property without a validator. */
export class WithSubType {
  @ApiProperty()
  @ValidateNested()
  @Type(() => Cat, { discriminator: { property: 'kind', subTypes: [{ value: Dog, name: 'dog' }] } })
  readonly animal!: Cat;
}

/** The schema name of a choice of the store, with other values. */
export class WithOtherStatus {
  @OneOf(
    { name: 'PetStatus', description: 'A status.', values: ['asleep'] },
    { description: 'Status.', example: 'asleep' },
  )
  readonly status!: string;
}

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
