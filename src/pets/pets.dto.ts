import { ApiSchema } from '@nestjs/swagger';
import { type Choice, Int64, OneOf, Text } from '../platform/http/fields';
import { PageQuery } from '../platform/http/page';
import { PET_STATUSES, type PetStatus } from './pet-status';

const STATUS: Choice = {
  name: 'PetStatus',
  description: 'Availability of an animal: `available`, `pending` (ordered) or `sold`.',
  values: PET_STATUSES,
};

const NAME = { max: 255, description: "The animal's name, kept exactly as sent.", example: 'Rex' } as const;

const CATEGORY = { description: 'Identifier of the category the animal belongs to.', example: 3 } as const;

/** Body of createPet. */
@ApiSchema({ description: 'An animal to add. Members that are not listed are ignored, `id` included.' })
export class NewPet {
  @Text(NAME)
  readonly name!: string;

  @Int64(CATEGORY)
  readonly categoryId!: bigint;

  @OneOf(STATUS, {
    optional: true,
    default: 'available',
    description: 'Availability of the animal; `available` if omitted.',
    example: 'available',
  })
  readonly status: PetStatus = 'available';
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
export class ListPetsQuery extends PageQuery {
  @OneOf(STATUS, { optional: true, description: 'Only animals with this status.', example: 'available' })
  readonly status?: PetStatus;

  override filters(): Readonly<Record<string, string | undefined>> {
    return { status: this.status };
  }
}
