import { ApiSchema } from '@nestjs/swagger';
import { Int64, Text } from '../platform/http/fields';

const NAME = { max: 255, description: 'Name of the spare part, unique.', example: 'First' } as const;

/** Body of createSparePart. */
@ApiSchema({ description: 'A spare part to add. Members that are not listed are ignored.' })
export class NewSparePart {
  @Text(NAME)
  readonly name!: string;
}

/** Body of a response with a spare part. */
@ApiSchema({ description: 'A spare part of the store.' })
export class SparePart {
  @Int64({ description: 'Unique identifier, assigned by the service.', example: 1 })
  readonly id!: bigint;

  @Text(NAME)
  readonly name!: string;
}
