import type { SchemaObject } from '@nestjs/swagger';
import { MAX_MESSAGE_LENGTH } from './api-error';
import { platformErrors } from './platform.errors';
import { MAX_POINTER_LENGTH, MAX_PROBLEMS, titleOf } from './problem-details';

const { code, status, example } = platformErrors.validation_failed;

/** @param more `minLength` or `format` */
export function text(maxLength: number, pattern: string, more: SchemaObject = {}): SchemaObject {
  return { type: 'string', ...more, maxLength, pattern };
}

export const CODE = { ...text(64, '^[a-z]+(_[a-z]+)*$', { minLength: 1 }), example: code };
const NAME = text(128, String.raw`\S`, { minLength: 1 });

const MESSAGE = {
  ...text(MAX_MESSAGE_LENGTH, String.raw`\S`, { minLength: 1 }),
  example,
  description: 'Human-readable description of what to fix. Its wording may change.',
};

const STATUS: SchemaObject = {
  type: 'integer',
  format: 'int32',
  minimum: 400,
  maximum: 599,
  description: 'The HTTP status code.',
  example: status,
};

/** The schemas of the bodies of errors, which no handler names. */
export const ERROR_SCHEMAS: Readonly<Record<string, SchemaObject>> = {
  // The one Error body (docs/specification.md).
  Error: {
    type: 'object',
    properties: {
      code: {
        ...CODE,
        description:
          'Machine-readable error code. A later release may add codes: handle an unknown code by its `status`.',
      },
      message: MESSAGE,
      status: STATUS,
    },
    description: 'The body of every error response.',
    required: ['code', 'message', 'status'],
  },
  ProblemItem: {
    type: 'object',
    properties: {
      pointer: {
        ...text(MAX_POINTER_LENGTH, '^#(/.*)?$'),
        description: 'A JSON Pointer into the body, as a URI fragment (RFC 6901, 6); `#` is the whole body.',
        example: '#/categoryId',
      },
      parameter: { ...NAME, description: 'The name of a parameter of the query or the path.' },
      header: { ...NAME, description: 'The name of a request header.' },
      detail: MESSAGE,
    },
    description:
      'One mistake of a request, with its place: a `pointer` into the body, a `parameter` or a `header`.',
    required: ['detail'],
  },
  // RFC 9457.
  ProblemDetails: {
    type: 'object',
    properties: {
      type: {
        ...text(8_192, '/problems/[a-z]+(_[a-z]+)*$', { format: 'uri-reference' }),
        description: 'The address of a page about the code.',
        example: `/problems/${code}`,
      },
      title: { ...NAME, description: 'The code in words.', example: titleOf(code) },
      status: STATUS,
      detail: { ...MESSAGE, description: 'The `message` of the body `Error`.' },
      message: {
        ...text(MAX_MESSAGE_LENGTH, String.raw`\S`),
        description:
          'Always absent: `detail` has the text. It is declared so that a typed client can read `message` of both bodies of an error.',
      },
      instance: {
        ...text(140, '^urn:request:[A-Za-z0-9._-]{1,128}$', { format: 'uri' }),
        description: 'The request, by its `X-Request-Id`.',
        example: 'urn:request:8c306bec-0f31-4111-b564-46c608ffb52e',
      },
      code: { ...CODE, description: 'The `code` of the body `Error`.' },
      errors: {
        minItems: 1,
        maxItems: MAX_PROBLEMS,
        description:
          'One entry for each invalid field or parameter, of `validation_failed` and `malformed_json`.',
        type: 'array',
        items: { $ref: '#/components/schemas/ProblemItem' },
      },
    },
    description:
      'The body of every error response if `Accept` prefers `application/problem+json` (RFC 9457). Status, code and headers are the same as with the body `Error`.',
    required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
  },
};
