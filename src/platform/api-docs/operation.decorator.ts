import { applyDecorators, type Type } from '@nestjs/common';
import { RouteSchema } from '@nestjs/platform-fastify';
import {
  ApiBearerAuth,
  ApiExtension,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { MAX_ITEMS } from '../http/page';
import { routeFacts } from '../http/route-facts';
import { IDEMPOTENCY_KEY_HEADER } from './idempotency-key-header';
import { isPage, type OperationFacts, registerOperation } from './operations';

/**
 * Declares an operation of the API once: for its route, for its response serializer, which prints only the declared
 * fields of the DTO class, and for the OpenAPI document. Error responses and headers are added by
 * `platform/openapi/complete-operations.ts`.
 */
export function Operation(facts: OperationFacts): MethodDecorator {
  const { id, summary, scope, deprecation, pathIds = {}, idempotent = false } = facts;
  registerOperation(facts);
  return applyDecorators(
    routeFacts({ scope, idempotent, ...(deprecation && { deprecation }) }),
    ApiBearerAuth(),
    ApiOperation({ operationId: id, summary, description: descriptionOf(facts) }),
    ...Object.entries(pathIds).map(([name, description]) => pathId(name, description)),
    ...(idempotent ? [ApiHeader(IDEMPOTENCY_KEY_HEADER)] : []),
    ...extensionsOf(facts),
    ...responseOf(facts),
  );
}

/** The sentence that the description of an operation ends with. */
export function scopeSentence(scope: string): string {
  return `The key needs the scope \`${scope}\`.`;
}

function descriptionOf({ description, extension, scope }: OperationFacts): string {
  const isExtension = 'An extension: this operation goes beyond the specification.';
  return [description, ...(extension ? [isExtension] : []), scopeSentence(scope)].join('\n\n');
}

function pathId(name: string, description: string): MethodDecorator {
  return ApiParam({ name, description, example: 1, schema: { type: 'integer', format: 'int64' } });
}

function extensionsOf({ extension, deprecation }: OperationFacts): MethodDecorator[] {
  const [removal = ''] = deprecation?.sunset.toISOString().split('T', 1) ?? [];
  return [
    ...(extension ? [ApiExtension('x-extension', true)] : []),
    ...(deprecation ? [ApiExtension('x-sunset', removal)] : []),
  ];
}

function responseOf({ returns: [status, body, description] }: OperationFacts): MethodDecorator[] {
  if (isPage(body)) return pageOf(status, body[0], description);
  return [
    ApiResponse({ status, description, type: body }),
    RouteSchema({ response: { [status]: { $ref: `${body.name}#` } } }),
  ];
}

/** A page is a bare array. */
function pageOf(status: number, item: Type, description: string): MethodDecorator[] {
  const items = { $ref: getSchemaPath(item) };
  return [
    ApiExtraModels(item),
    ApiResponse({ status, description, schema: { type: 'array', maxItems: MAX_ITEMS, items } }),
    RouteSchema({ response: { [status]: { type: 'array', items: { $ref: `${item.name}#` } } } }),
  ];
}
