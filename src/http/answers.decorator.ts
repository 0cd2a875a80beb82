import { applyDecorators, type Type } from '@nestjs/common';
import { RouteSchema } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import { ErrorDto } from '../errors/error.dto';

/**
 * The good answer of an operation: one definition for the OpenAPI document and for the response serializer,
 * which prints the declared fields of the class and nothing else.
 *
 * @param body a DTO class, or `[Class]` for an array of it
 */
export function Answers(status: number, body: Type | [Type], description: string): MethodDecorator {
  const schema = Array.isArray(body)
    ? { type: 'array', items: { $ref: `${body[0].name}#` } }
    : { $ref: `${body.name}#` };
  return applyDecorators(
    ApiResponse({ status, description, type: body }),
    RouteSchema({ response: { [status]: schema } }),
  );
}

/** An answer of an operation that is an Error. */
export function Refuses(status: number, description: string): MethodDecorator {
  return ApiResponse({ status, description, type: ErrorDto });
}
