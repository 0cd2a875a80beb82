import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ERROR_CODES } from './error-codes';

const LONGEST_CODE = 64;
/** In code points. A message names every field at fault. */
export const MAX_MESSAGE_LENGTH = 4_096;
const { status, message } = ERROR_CODES.validation_failed;

/** The one Error body (specification, section 2). */
@ApiSchema({ name: 'Error', description: 'The body of every answer that is not a success.' })
export class ErrorDto {
  @ApiProperty({
    type: 'string',
    minLength: 1,
    maxLength: LONGEST_CODE,
    pattern: '^[a-z]+(_[a-z]+)*$',
    description:
      'Machine-readable error code. More codes may come; go by `status` for one that you do not know.',
    example: 'validation_failed',
  })
  readonly code!: string;

  @ApiProperty({
    type: 'string',
    minLength: 1,
    maxLength: MAX_MESSAGE_LENGTH,
    pattern: String.raw`\S`,
    description: 'Human-readable description: what to mend. Its wording may change.',
    example: message,
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
