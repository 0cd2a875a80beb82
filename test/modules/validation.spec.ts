import type { Type } from '@nestjs/common';
import { Type as ClassOf } from 'class-transformer';
import { ArrayMaxSize, Validate, ValidateBy, ValidateNested, ValidatorConstraint } from 'class-validator';
import * as fc from 'fast-check';
import { ListPetsQuery } from '../../src/pets';
import { NewPet } from '../../src/pets/pets.dto';
import type { ApiError } from '../../src/platform/errors/api-error';
import { Decimal } from '../../src';
import { QuickDto } from '../../src/platform/validation/declare-field';
import { ApiValidationPipe } from '../../src/platform/validation/validation.pipe';

@ValidatorConstraint({ async: true })
class IsFree {
  validate = (place: number) => Promise.resolve(place === 7);
  defaultMessage = () => 'place must be free';
}

class Booking {
  @Validate(IsFree)
  readonly place!: number;
}

let validations = 0;

class Note {
  @ValidateBy({ name: 'isText', validator: { validate: () => (validations += 1) < 0 } })
  readonly text!: string;
}

class Book {
  @ArrayMaxSize(200)
  @ValidateNested({ each: true })
  @ClassOf(() => Note)
  readonly notes!: Note[];
}

const pipe = new ApiValidationPipe();

/** Without the mark @QuickDto, so that class-transformer and class-validator read them. */
class SlowQuery extends ListPetsQuery {}
class SlowPet extends NewPet {}

class SlowDose {
  @Decimal({ above: 0, max: 1, description: 'Dose.' })
  readonly dose!: number;
}
@QuickDto()
class Dose extends SlowDose {}

/** As in a query. */
const text = fc.oneof(
  fc.constantFrom('', ' ', 'a', 'available', '-id', '\u0000', '\uD800', '1', '01'),
  fc.constantFrom('9223372036854775807', '9223372036854775808'),
  fc.string({ maxLength: 300 }),
  fc.array(fc.constantFrom('1', '2', '3', 'x'), { maxLength: 2 }),
);
/** As the parser of a body returns it. */
const json = fc.oneof(text, fc.constantFrom(null, 0, 1, 1.5, 7n, 2n ** 63n, true, Number.NaN));

/** Returns the members of the DTO, or the problems. */
const read = (metatype: Type, type: 'body' | 'query', members: object): Promise<unknown> =>
  pipe.transform(members, { type, metatype }).then(
    (dto) => ({ ...(dto as object) }),
    ({ problems }: ApiError) => new Set(problems),
  );

describe('the validation pipe', () => {
  it.each<['body' | 'query', Type, Type, string[]]>([
    ['query', ListPetsQuery, SlowQuery, ['limit', 'cursor', 'sort', 'id', 'categoryId', 'status']],
    ['body', NewPet, SlowPet, ['name', 'categoryId', 'status']],
    ['body', Dose, SlowDose, ['dose']],
  ])('reads a %s into a marked class as the libraries do', async (type, marked, slow, fields) => {
    const value = type === 'query' ? text : json;
    const members = fc.record(Object.fromEntries([...fields, 'other'].map((field) => [field, value])), {
      requiredKeys: [],
    });
    await fc.assert(
      fc.asyncProperty(members, async (given) => {
        expect(await read(marked, type, { ...given })).toEqual(await read(slow, type, { ...given }));
      }),
      { numRuns: 300, seed: 31 },
    );
  });

  it('rejects the mark on a class with other validators', () => {
    expect(() => QuickDto()(Booking)).toThrow('Booking has other validators, too.');
  });

  it.each([
    ['100 problems of 150 items', 150, 150, 100],
    ['one problem of a list that is too long, and validates no item', 201, 0, 1],
    ['one problem of more objects than it validates quickly', 1_900, 0, 1],
  ])('lists %s', async (_what, count, expected, problems) => {
    validations = 0;
    const notes = Array.from({ length: count }, () => ({}));
    const rejected: unknown = await pipe
      .transform({ notes }, { type: 'body', metatype: Book })
      .catch((error: unknown) => error);
    expect([(rejected as ApiError).problems.length, validations]).toEqual([problems, expected]);
  });

  it('runs asynchronous validators', async () => {
    const book = (place: number) => pipe.transform({ place }, { type: 'body', metatype: Booking });
    expect(await book(7)).toEqual({ place: 7 });
    await expect(book(8)).rejects.toThrow('place must be free.');
  });
});
