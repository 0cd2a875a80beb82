import { applyDecorators, type Type } from '@nestjs/common';
import { RouteSchema } from '@nestjs/platform-fastify';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import type { ErrorCode } from '../errors/error-codes';
import { note } from './operation-notes';
import { MOST_ITEMS } from './page';
import type { ResponseHeader } from './response-headers';

/**
 * The good answer of an operation: one definition for the OpenAPI document and for the response serializer,
 * which prints the declared fields of the class and nothing else.
 *
 * @param body a DTO class, or `[Class]` for a page of it
 */
export function Answers(status: 200 | 201, body: Type | [Type], description: string): MethodDecorator {
  if (Array.isArray(body)) return AnswersPage(body[0], description);
  return applyDecorators(
    ApiResponse({ status, description, type: body }),
    RouteSchema({ response: { [status]: { $ref: `${body.name}#` } } }),
    ...(status === 201 ? [Sends('Location')] : []),
  );
}

/** Refusals of an operation beyond those that every operation, or every body, can meet: see the table of codes. */
export function Refuses(...codes: readonly ErrorCode[]): MethodDecorator {
  return note('code', ...codes);
}

/** Headers of a good answer beyond those of every response. */
export function Sends(...headers: readonly ResponseHeader[]): MethodDecorator {
  return note('header', ...headers);
}

/** A list is a bare array that `Link` leads on from; its query parameters can be wrong. */
function AnswersPage(item: Type, description: string): MethodDecorator {
  const items = { $ref: getSchemaPath(item) };
  return applyDecorators(
    ApiExtraModels(item),
    ApiResponse({ status: 200, description, schema: { type: 'array', maxItems: MOST_ITEMS, items } }),
    RouteSchema({ response: { 200: { type: 'array', items: { $ref: `${item.name}#` } } } }),
    Sends('Link'),
    Refuses('validation_failed', 'invalid_cursor'),
  );
}
