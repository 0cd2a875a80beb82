import { ApiProperty, ApiSchema } from '@nestjs/swagger';

/** The one Error body (specification, section 2). */
@ApiSchema({ name: 'Error', description: 'The body of every answer that is not a success.' })
export class ErrorDto {
  @ApiProperty({
    type: 'string',
    description: 'Machine-readable error code.',
    example: 'validation_failed',
  })
  readonly code!: string;

  @ApiProperty({
    type: 'string',
    description: 'Human-readable description.',
    example: 'name must be a string of 1 to 255 characters.',
  })
  readonly message!: string;

  @ApiProperty({ type: 'integer', description: 'The HTTP status code.', example: 400 })
  readonly status!: number;
}
