import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { RouteSchema } from '@nestjs/platform-fastify';
import {
  ApiExtension,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { MAX_ITEMS } from '../paging/page';
import { routeFacts } from '../routes/route-facts';
import { IDEMPOTENCY_KEY_HEADER, IF_MATCH_HEADER } from './request-headers';
import { isPage, type OperationFacts, registerOperation } from './operations';
import { declareScope, scopeSentence, scopesOf } from './required-scopes';

/**
 * Declares an operation of the API once: for its route, for its response serializer, which prints only the declared
 * fields of the DTO class, and for the OpenAPI document. Error responses and headers are added by
 * `server/openapi/responses.ts`.
 */
export function Operation(facts: OperationFacts): MethodDecorator {
  const { id, summary, scope, deprecation, pathIds = {}, idempotent = false, conditional = false } = facts;
  return applyDecorators(
    // TypeScript emits the types of the parameters (`emitDecoratorMetadata`).
    (target: object, name: string | symbol) =>
      registerOperation(facts, Reflect.getMetadata('design:paramtypes', target, name)),
    routeFacts({ idempotent, entityTag: !facts.untagged, ...(deprecation && { deprecation }) }),
    declareScope(scope),
    ApiOperation({
      operationId: id,
      summary,
      description: `${facts.description}\n\n${scopeSentence(scopesOf(scope))}`,
    }),
    ...Object.entries(pathIds).map(([name, description]) => pathId(name, description)),
    ...(idempotent ? [ApiHeader(IDEMPOTENCY_KEY_HEADER)] : []),
    ...(conditional ? [ApiHeader(IF_MATCH_HEADER)] : []),
    ...extensionsOf(facts),
    ...responseOf(facts),
  );
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
  if (!body) return [HttpCode(status), ApiResponse({ status, description })];
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
