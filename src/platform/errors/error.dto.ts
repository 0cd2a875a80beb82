import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { platformErrors } from './platform.errors';

const MAX_CODE_LENGTH = 64;
/** In code points. A message names every invalid field. */
export const MAX_MESSAGE_LENGTH = 4_096;
const { status, example } = platformErrors.validation_failed;

/** The one Error body (specification, section 2). */
@ApiSchema({ name: 'Error', description: 'The body of every error response.' })
export class ErrorDto {
  @ApiProperty({
    type: 'string',
    minLength: 1,
    maxLength: MAX_CODE_LENGTH,
    pattern: '^[a-z]+(_[a-z]+)*$',
    description:
      'Machine-readable error code. A later release may add codes: handle an unknown code by its `status`.',
    example: 'validation_failed',
  })
  readonly code!: string;

  @ApiProperty({
    type: 'string',
    minLength: 1,
    maxLength: MAX_MESSAGE_LENGTH,
    pattern: String.raw`\S`,
    description: 'Human-readable description of what to fix. Its wording may change.',
    example,
  })
  readonly message!: string;

  @ApiProperty({
    type: 'integer',
    format: 'int32',
    minimum: 400,
    maximum: 599,
    description: 'The HTTP status code.',
    example: status,
  })
  readonly status!: number;
}
