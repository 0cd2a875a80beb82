import type { ArgumentMetadata, Type } from '@nestjs/common';
import { Validate, ValidatorConstraint } from 'class-validator';
import { ListOrdersQuery, ListPetsQuery } from '../../src';
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

const pipe = new ApiValidationPipe();
const query = (metatype: Type, value: object) =>
  pipe.transform(value, { type: 'query', metatype } as ArgumentMetadata);

describe('the validation pipe', () => {
  it('returns one frozen object for equal queries of a list, and another for each class', async () => {
    const sent = { status: 'available', id: ['7', '9'] };
    const first = (await query(ListPetsQuery, sent)) as ListPetsQuery;
    expect(first).toMatchObject({ status: 'available', id: [7n, 9n], limit: 20 });
    expect(Object.isFrozen(first) && Object.isFrozen(first.id)).toBe(true);
    expect(await query(ListPetsQuery, { ...sent })).toBe(first);
    expect(await query(ListPetsQuery, { status: 'available', id: '7' })).not.toBe(first);
    expect(await query(ListOrdersQuery, {})).toBeInstanceOf(ListOrdersQuery);
    expect(await query(ListPetsQuery, {})).toBeInstanceOf(ListPetsQuery);
  });

  it('rejects an invalid query each time', async () => {
    for (const _ of [1, 2])
      await expect(query(ListPetsQuery, { limit: '1e1' })).rejects.toThrow(/limit must/);
  });

  it('runs asynchronous validators', async () => {
    const book = (place: number) => pipe.transform({ place }, { type: 'body', metatype: Booking });
    expect(await book(7)).toEqual({ place: 7 });
    await expect(book(8)).rejects.toThrow('place must be free.');
  });
});
