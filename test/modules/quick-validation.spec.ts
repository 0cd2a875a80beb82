import {
  IsInt,
  IsOptional,
  IsString,
  MinLength,
  Validate,
  ValidateIf,
  validateSync,
  ValidatorConstraint,
} from 'class-validator';
import * as fc from 'fast-check';
import { IsOmittable } from '../../src/platform/http/omittable.decorator';
import { quickValidationOf } from '../../src/platform/http/quick-validation';
import { ListPetsQuery } from '../../src/pets/pets.dto';

class Kennel {
  @IsInt()
  readonly places!: number;

  @IsOptional()
  @MinLength(2)
  @IsString()
  readonly label?: string;

  @ValidateIf(({ places }: Kennel) => places > 1)
  @IsOmittable()
  @IsString()
  readonly plan?: string;
}

@ValidatorConstraint()
class IsPromised {
  validate = () => Promise.resolve(true);
}

class PromisedBooking {
  @Validate(IsPromised)
  readonly place!: number;
}

const value = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    '',
    ' ',
    'a',
    'available',
    '\u0000',
    '\uD800',
    0,
    1,
    2,
    1.5,
    7n,
    2n ** 63n,
  ),
  fc.string({ maxLength: 300 }),
  fc.array(fc.string(), { maxLength: 2 }),
);

describe('the quick validation of a class', () => {
  it.each([
    [Kennel, ['places', 'label', 'plan']],
    [ListPetsQuery, ['limit', 'cursor', 'status']],
  ])('of %p accepts exactly what class-validator accepts', (type: new () => object, fields) => {
    const isValid = quickValidationOf(type)!;
    const members = fc.record(Object.fromEntries(fields.map((field) => [field, value])), {
      requiredKeys: [],
    });
    fc.assert(
      fc.property(members, (given) => {
        const dto = Object.assign(new type(), given);
        expect(isValid(dto)).toBe(validateSync(dto).length === 0);
      }),
      { numRuns: 200, seed: 31 },
    );
  });

  it('leaves a validator that returns a promise to class-validator', () => {
    expect(quickValidationOf(PromisedBooking)!(new PromisedBooking())).toBe(false);
  });
});
