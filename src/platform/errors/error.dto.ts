import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { platformErrors } from './platform.errors';
import { MAX_POINTER_LENGTH } from './problem-details';
import { MAX_PROBLEMS, titleOf } from './problem-details';

/** In code points. A message names every invalid field. */
export const MAX_MESSAGE_LENGTH = 4_096;

const { code, status, example } = platformErrors.validation_failed;

/** A text for people. */
const MESSAGE_SCHEMA = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_MESSAGE_LENGTH,
  pattern: String.raw`\S`,
  example,
  description: 'Human-readable description of what to fix. Its wording may change.',
} as const;

const CODE_SCHEMA = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z]+(_[a-z]+)*$',
  example: code,
} as const;

const STATUS_SCHEMA = {
  type: 'integer',
  format: 'int32',
  minimum: 400,
  maximum: 599,
  description: 'The HTTP status code.',
  example: status,
} as const;

const NAME_SCHEMA = { type: 'string', minLength: 1, maxLength: 128, pattern: String.raw`\S` } as const;
const MAX_URL_LENGTH = 8_192;

/** The one Error body (specification, section 2). */
@ApiSchema({ name: 'Error', description: 'The body of every error response.' })
export class ErrorDto {
  @ApiProperty({
    ...CODE_SCHEMA,
    description:
      'Machine-readable error code. A later release may add codes: handle an unknown code by its `status`.',
  })
  readonly code!: string;

  @ApiProperty(MESSAGE_SCHEMA)
  readonly message!: string;

  @ApiProperty(STATUS_SCHEMA)
  readonly status!: number;
}

/** One entry of `errors` in problem details. */
@ApiSchema({
  name: 'ProblemItem',
  description:
    'One mistake of a request, with its place: a `pointer` into the body, a `parameter` or a `header`.',
})
export class ProblemItemDto {
  @ApiPropertyOptional({
    type: 'string',
    maxLength: MAX_POINTER_LENGTH,
    pattern: '^#(/.*)?$',
    description: 'A JSON Pointer into the body, as a URI fragment (RFC 6901, 6); `#` is the whole body.',
    example: '#/categoryId',
  })
  readonly pointer?: string;

  @ApiPropertyOptional({ ...NAME_SCHEMA, description: 'The name of a parameter of the query or the path.' })
  readonly parameter?: string;

  @ApiPropertyOptional({ ...NAME_SCHEMA, description: 'The name of a request header.' })
  readonly header?: string;

  @ApiProperty(MESSAGE_SCHEMA)
  readonly detail!: string;
}

/** The problem details of an error (RFC 9457). */
@ApiSchema({
  name: 'ProblemDetails',
  description:
    'The body of every error response if `Accept` prefers `application/problem+json` (RFC 9457). Status, code and headers are those of the body `Error`.',
})
export class ProblemDto {
  @ApiProperty({
    type: 'string',
    format: 'uri-reference',
    maxLength: MAX_URL_LENGTH,
    pattern: '/problems/[a-z]+(_[a-z]+)*$',
    description: 'The address of a page about the code.',
    example: `/problems/${code}`,
  })
  readonly type!: string;

  @ApiProperty({ ...NAME_SCHEMA, description: 'The code in words.', example: titleOf(code) })
  readonly title!: string;

  @ApiProperty(STATUS_SCHEMA)
  readonly status!: number;

  @ApiProperty({ ...MESSAGE_SCHEMA, description: 'The `message` of the body `Error`.' })
  readonly detail!: string;

  @ApiPropertyOptional({
    type: 'string',
    maxLength: MAX_MESSAGE_LENGTH,
    pattern: String.raw`\S`,
    description:
      'Always absent: `detail` has the text. It is declared so that a typed client can read `message` of both bodies of an error.',
  })
  readonly message?: string;

  @ApiProperty({
    type: 'string',
    format: 'uri',
    maxLength: 140,
    pattern: '^urn:request:[A-Za-z0-9._-]{1,128}$',
    description: 'The request, by its `X-Request-Id`.',
    example: 'urn:request:8c306bec-0f31-4111-b564-46c608ffb52e',
  })
  readonly instance!: string;

  @ApiProperty({ ...CODE_SCHEMA, description: 'The `code` of the body `Error`.' })
  readonly code!: string;

  @ApiPropertyOptional({
    type: () => [ProblemItemDto],
    minItems: 1,
    maxItems: MAX_PROBLEMS,
    description:
      'One entry for each invalid field or parameter, of `validation_failed` and `malformed_json`.',
  })
  readonly errors?: ProblemItemDto[];
}

/** The classes of the bodies of errors, which no handler names. */
export const ERROR_BODIES = [ErrorDto, ProblemDto];
