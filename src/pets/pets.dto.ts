import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { ApiInt64, IsInt64 } from '../platform/api-docs/int64.decorator';
import { IsOmittable } from '../platform/http/omittable.decorator';
import { PageQuery } from '../platform/http/page';
import { ApiPetName, IsPetName } from './pet-name.decorator';
import { PET_STATUSES, type PetStatus } from './pet-status';

const STATUS_PROPERTY = {
  enum: PET_STATUSES,
  enumName: 'PetStatus',
  enumSchema: { description: 'Availability of an animal: `available`, `pending` (ordered) or `sold`.' },
} as const;

/** Body of createPet. */
@ApiSchema({ description: 'An animal to add. Members that are not listed are ignored, `id` included.' })
export class NewPet {
  @ApiPetName()
  @IsPetName()
  readonly name!: string;

  @ApiInt64('Identifier of the category the animal belongs to.', 3)
  @IsInt64()
  readonly categoryId!: bigint;

  @ApiPropertyOptional({
    ...STATUS_PROPERTY,
    default: 'available',
    description: 'Availability of the animal; `available` if omitted.',
    example: 'available',
  })
  @IsOmittable()
  @IsIn(PET_STATUSES, { message: `status must be one of ${PET_STATUSES.join(', ')}` })
  readonly status: PetStatus = 'available';
}

/** Body of a response with an animal. */
@ApiSchema({ description: 'An animal of the store.' })
export class Pet {
  @ApiInt64('Unique identifier, assigned by the service on creation.', 1)
  readonly id!: bigint;

  @ApiPetName()
  readonly name!: string;

  @ApiInt64('Identifier of the category the animal belongs to.', 3)
  readonly categoryId!: bigint;

  @ApiProperty({ ...STATUS_PROPERTY, description: 'Availability of the animal.', example: 'available' })
  readonly status!: PetStatus;
}

/** Query of listPets. */
export class ListPetsQuery extends PageQuery {
  @ApiPropertyOptional({
    ...STATUS_PROPERTY,
    description: 'Only animals with this status.',
    example: 'available',
  })
  @IsOmittable()
  @IsIn(PET_STATUSES, { message: `status must be one of ${PET_STATUSES.join(', ')}` })
  readonly status?: PetStatus;

  override filters(): Readonly<Record<string, string | undefined>> {
    return { status: this.status };
  }
}
