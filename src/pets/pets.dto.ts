import { ApiSchema } from '@nestjs/swagger';
import { type Choice, Int64, Int64List, ListOf, OneOf, SomeOf, Text } from '../platform/validation/fields';
import { AtLeastOne, BodyExample, QuickDto } from '../platform/validation/declare-field';
import { SortedPageQuery } from '../platform/paging/page';
import { PET_STATUSES, type PetStatus } from './pet-status';

/** Most ids of one request for the list. */
const MAX_IDS = 100;
/** Most animals of one batch. */
const MAX_BATCH = 100;

const STATUS: Choice = {
  name: 'PetStatus',
  description: 'Availability of an animal: `available`, `pending` (ordered) or `sold`.',
  values: PET_STATUSES,
};

const NAME = { max: 255, description: "The animal's name, kept exactly as sent.", example: 'Rex' } as const;

const CATEGORY = { description: 'Identifier of the category the animal belongs to.', example: 3 } as const;

/** Body of createPet. */
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

/** Body of createPets. */
@ApiSchema({ description: 'Animals to add, all or none.' })
@QuickDto()
export class NewPets {
  @ListOf(() => NewPet, { min: 1, max: MAX_BATCH, description: 'The animals, in the order of their ids.' })
  readonly items!: readonly NewPet[];
}

/** Body of updatePet. */
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

/** Body of a response with an animal. */
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

/** Query of listPets. */
@QuickDto()
export class ListPetsQuery extends SortedPageQuery {
  @Int64List({
    max: MAX_IDS,
    optional: true,
    description: 'Only the animals with these ids, as `id=7&id=9`. Unknown ids are ignored.',
  })
  readonly id?: readonly bigint[];

  @Int64({ optional: true, description: 'Only animals of this category.' })
  readonly categoryId?: bigint;

  // Specification, 4.1: a PetStatus.
  @SomeOf(STATUS, {
    isShownAsOne: true,
    optional: true,
    description: 'Only animals with this status. It may be repeated: `status=available&status=pending`.',
  })
  readonly status?: readonly PetStatus[];
}
