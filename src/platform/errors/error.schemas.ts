import type { SchemaObject } from '@nestjs/swagger';
import { platformErrors } from './platform.errors';
import { MAX_POINTER_LENGTH, MAX_PROBLEMS, titleOf } from './problem-details';

/** In code points. A message names every invalid field. */
export const MAX_MESSAGE_LENGTH = 4_096;

const { code, status, example } = platformErrors.validation_failed;

function text(maxLength: number, pattern: string, more: SchemaObject): SchemaObject {
  return { type: 'string', minLength: 1, maxLength, pattern, ...more };
}

/** A text for people. */
const MESSAGE = text(MAX_MESSAGE_LENGTH, String.raw`\S`, {
  example,
  description: 'Human-readable description of what to fix. Its wording may change.',
});

const STATUS: SchemaObject = {
  type: 'integer',
  format: 'int32',
  minimum: 400,
  maximum: 599,
  description: 'The HTTP status code.',
  example: status,
};

function codeOf(description: string): SchemaObject {
  return text(64, '^[a-z]+(_[a-z]+)*$', { example: code, description });
}

function nameOf(description: string, more: SchemaObject = {}): SchemaObject {
  return text(128, String.raw`\S`, { description, ...more });
}

/** The schemas of the bodies of errors, which no handler names. */
export const ERROR_SCHEMAS: Readonly<Record<string, SchemaObject>> = {
  // The one Error body (specification, section 2).
  Error: {
    type: 'object',
    properties: {
      code: codeOf(
        'Machine-readable error code. A later release may add codes: handle an unknown code by its `status`.',
      ),
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
        type: 'string',
        maxLength: MAX_POINTER_LENGTH,
        pattern: '^#(/.*)?$',
        description: 'A JSON Pointer into the body, as a URI fragment (RFC 6901, 6); `#` is the whole body.',
        example: '#/categoryId',
      },
      parameter: nameOf('The name of a parameter of the query or the path.'),
      header: nameOf('The name of a request header.'),
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
        type: 'string',
        format: 'uri-reference',
        maxLength: 8_192,
        pattern: '/problems/[a-z]+(_[a-z]+)*$',
        description: 'The address of a page about the code.',
        example: `/problems/${code}`,
      },
      title: nameOf('The code in words.', { example: titleOf(code) }),
      status: STATUS,
      detail: { ...MESSAGE, description: 'The `message` of the body `Error`.' },
      instance: {
        type: 'string',
        format: 'uri',
        maxLength: 140,
        pattern: '^urn:request:[A-Za-z0-9._-]{1,128}$',
        description: 'The request, by its `X-Request-Id`.',
        example: 'urn:request:8c306bec-0f31-4111-b564-46c608ffb52e',
      },
      code: codeOf('The `code` of the body `Error`.'),
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
      'The body of every error response if `Accept` prefers `application/problem+json` (RFC 9457). Status, code and headers are those of the body `Error`.',
    required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
  },
};
