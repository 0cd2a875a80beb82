import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsString,
  Validate,
  ValidateNested,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { OneOf } from '../../../src';

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

/** The class of the object depends on the object. */
export class WithChosenType {
  @ApiProperty({ type: 'object', additionalProperties: true })
  @ValidateNested()
  @Type((options) => (options?.object['isCat'] === true ? Cat : options!.newObject.constructor))
  readonly animal!: object;
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
