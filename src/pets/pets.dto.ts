import { ApiSchema } from '@nestjs/swagger';
import { type Choice, Int64, Integer, ListOf, OneOf, SomeOf, Text } from '../api/fields/fields';
import { AtLeastOne, BodyExample, QuickDto } from '../api/fields/validation.pipe';
import { SortedPageQuery } from '../api/lists/page';
import { PET_STATUSES, type PetStatus } from './pet-status';

const STATUS: Choice = {
  name: 'PetStatus',
  description: 'Availability of an animal: `available`, `pending` (ordered) or `sold`.',
  values: PET_STATUSES,
};

const NAME = { max: 255, description: "The animal's name, kept exactly as sent.", example: 'Rex' } as const;

const CATEGORY = { description: 'Identifier of the category the animal belongs to.', example: 3 } as const;

@ApiSchema({ description: 'An animal to add. Members that are not listed are ignored, `id` included.' })
@QuickDto()
export class NewPet {
  @Text(NAME)
  readonly name!: string;

  @Int64(CATEGORY)
  readonly categoryId!: bigint;

  @OneOf(STATUS, {
    optional: true,
    description: 'Availability of the animal; `available` if omitted.',
    example: 'available',
  })
  readonly status: PetStatus = 'available';
}

@ApiSchema({ description: 'Animals to add, all or none.' })
@QuickDto()
export class NewPets {
  @ListOf(() => NewPet, { min: 1, max: 100, description: 'The animals, in the order of their ids.' })
  readonly items!: readonly NewPet[];
}

@AtLeastOne()
@BodyExample({ name: 'Rex II' })
@QuickDto()
@ApiSchema({
  description:
    'New values of an animal. Members that are left out keep their value; at least one is required.',
})
export class PetUpdate {
  @Text({ ...NAME, optional: true })
  readonly name?: string;

  @Int64({ ...CATEGORY, optional: true })
  readonly categoryId?: bigint;

  @OneOf(STATUS, { optional: true, description: 'Availability of the animal.', example: 'available' })
  readonly status?: PetStatus;
}

@ApiSchema({ description: 'An animal of the store.' })
export class Pet {
  @Int64({ description: 'Unique identifier, assigned by the service on creation.', example: 1 })
  readonly id!: bigint;

  @Text(NAME)
  readonly name!: string;

  @Int64(CATEGORY)
  readonly categoryId!: bigint;

  @OneOf(STATUS, { description: 'Availability of the animal.', example: 'available' })
  readonly status!: PetStatus;
}

const count = (status: PetStatus) => ({
  min: 0,
  max: Number.MAX_SAFE_INTEGER,
  description: `The animals with the status \`${status}\`.`,
  example: 1,
});

@ApiSchema({ description: 'The number of animals of each status.' })
export class Inventory {
  @Integer(count('available'))
  readonly available!: number;

  @Integer(count('pending'))
  readonly pending!: number;

  @Integer(count('sold'))
  readonly sold!: number;
}

@ApiSchema({ description: 'The number of animals of each status in a category.' })
export class Category extends Inventory {
  @Int64({ description: 'Identifier of the category.', example: 3 })
  readonly categoryId!: bigint;
}

@QuickDto()
export class InventoryQuery {
  @Int64({
    maxItems: 100,
    optional: true,
    description: 'Counts of each of these categories, as `categoryId=7&categoryId=9`.',
  })
  readonly categoryId?: readonly bigint[];
}

@QuickDto()
export class ListPetsQuery extends SortedPageQuery {
  @Int64({
    maxItems: 100,
    optional: true,
    description: 'Only the animals with these ids, as `id=7&id=9`. Unknown ids are ignored.',
  })
  readonly id?: readonly bigint[];

  @Int64({ optional: true, description: 'Only animals of this category.' })
  readonly categoryId?: bigint;

  // One status, not a list (docs/specification.md).
  @SomeOf(STATUS, {
    isShownAsOne: true,
    optional: true,
    description: 'Only animals with this status. It may be repeated: `status=available&status=pending`.',
  })
  readonly status?: readonly PetStatus[];

  @Text({
    optional: true,
    max: 100,
    isWord: true,
    description:
      'Only animals whose names have all these words, in any letter case, with or without accents. The last word may be the beginning of one.',
  })
  readonly q?: string;
}
