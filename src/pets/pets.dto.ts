import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { ApiInt64, IsInt64 } from '../http/int64.decorator';
import { IsOmittable } from '../http/omittable.decorator';
import { PageQuery } from '../http/page';
import { IsPetName, NAME_MAX_LENGTH } from './pet-name.decorator';
import { PET_STATUSES, type PetStatus } from './pet-status';

const STATUS_PROPERTY = { enum: PET_STATUSES, enumName: 'PetStatus' } as const;

/** Body of createPet. */
export class NewPet {
  @ApiProperty({
    type: 'string',
    minLength: 1,
    maxLength: NAME_MAX_LENGTH,
    description: "The animal's name, kept exactly as sent.",
    example: 'Rex',
  })
  @IsPetName()
  readonly name!: string;

  @ApiInt64('Identifier of the category the animal belongs to.', 3)
  @IsInt64()
  readonly categoryId!: bigint;

  @ApiPropertyOptional({
    ...STATUS_PROPERTY,
    default: 'available',
    description: 'Availability of the animal.',
  })
  @IsOmittable()
  @IsIn(PET_STATUSES, { message: `status must be one of ${PET_STATUSES.join(', ')}` })
  readonly status: PetStatus = 'available';
}

/** An animal as it is returned. */
export class Pet {
  @ApiInt64('Unique identifier, assigned by the service on creation.', 1)
  readonly id!: bigint;

  @ApiProperty({ type: 'string', description: "The animal's name.", example: 'Rex' })
  readonly name!: string;

  @ApiInt64('Identifier of the category the animal belongs to.', 3)
  readonly categoryId!: bigint;

  @ApiProperty({ ...STATUS_PROPERTY, description: 'Availability of the animal.', example: 'available' })
  readonly status!: PetStatus;
}

/** Query of listPets. */
export class ListPetsQuery extends PageQuery {
  @ApiPropertyOptional({ ...STATUS_PROPERTY, description: 'Only animals of this availability.' })
  @IsOmittable()
  @IsIn(PET_STATUSES, { message: `status must be one of ${PET_STATUSES.join(', ')}` })
  readonly status?: PetStatus;

  override filters(): Readonly<Record<string, string | undefined>> {
    return { status: this.status };
  }
}

/** A row of `pets`; int8 arrives as text. */
export interface PetRow {
  readonly id: string;
  readonly name: string;
  readonly categoryId: string;
  readonly status: PetStatus;
}

export function toPet({ id, name, categoryId, status }: PetRow): Pet {
  return { id: BigInt(id), name, categoryId: BigInt(categoryId), status };
}
