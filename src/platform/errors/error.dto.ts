import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { platformErrors } from './platform.errors';

/** In code points. A message names every invalid field. */
export const MAX_MESSAGE_LENGTH = 4_096;

const { code, status, example } = platformErrors.validation_failed;

/** A text for people. */
export const MESSAGE_SCHEMA = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_MESSAGE_LENGTH,
  pattern: String.raw`\S`,
  example,
} as const;

export const CODE_SCHEMA = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z]+(_[a-z]+)*$',
  example: code,
} as const;

export const STATUS_SCHEMA = {
  type: 'integer',
  format: 'int32',
  minimum: 400,
  maximum: 599,
  description: 'The HTTP status code.',
  example: status,
} as const;

/** The one Error body (specification, section 2). */
@ApiSchema({ name: 'Error', description: 'The body of every error response.' })
export class ErrorDto {
  @ApiProperty({
    ...CODE_SCHEMA,
    description:
      'Machine-readable error code. A later release may add codes: handle an unknown code by its `status`.',
  })
  readonly code!: string;

  @ApiProperty({
    ...MESSAGE_SCHEMA,
    description: 'Human-readable description of what to fix. Its wording may change.',
  })
  readonly message!: string;

  @ApiProperty(STATUS_SCHEMA)
  readonly status!: number;
}
