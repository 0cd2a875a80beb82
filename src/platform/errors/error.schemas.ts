import type { SchemaObject } from '@nestjs/swagger';
import { MAX_MESSAGE_LENGTH } from './api-error';
import { platformErrors } from './platform.errors';

const { code, status } = platformErrors.validation_failed;

/** @param more `minLength` or `format` */
export function text(maxLength: number, pattern: string, more: SchemaObject = {}): SchemaObject {
  return { type: 'string', ...more, maxLength, pattern };
}

export const CODE = text(64, '^[a-z]+(_[a-z]+)*$', { minLength: 1 });

/** The body of every error (docs/specification.md), which no handler names. */
export const ERROR_SCHEMA: SchemaObject = {
  type: 'object',
  properties: {
    code: {
      ...CODE,
      example: code,
      description:
        'Machine-readable error code. A later release may add codes: handle an unknown code by its `status`.',
    },
    message: {
      ...text(MAX_MESSAGE_LENGTH, String.raw`\S`, { minLength: 1 }),
      example: 'categoryId must be an integer.',
      description: 'Human-readable description of what to fix. Its wording may change.',
    },
    status: {
      type: 'integer',
      format: 'int32',
      minimum: 400,
      maximum: 599,
      description: 'The HTTP status code.',
      example: status,
    },
  },
  description: 'The body of every error response.',
  required: ['code', 'message', 'status'],
};
