import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  UseInterceptors,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import { Refuses } from '../http/answers.decorator';
import { IdempotencyInterceptor } from './idempotency.interceptor';

/**
 * Lets clients retry an operation safely: with an Idempotency-Key its work is done once and answered alike each time.
 * The handler takes `@Transaction()` and hands it to its service, so that work and answer are kept together or not at
 * all.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'Any text of 1 to 255 visible ASCII characters, bare or quoted, new for each thing to be done. For 24 h a request with the same key and body gets the first answer again.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    }),
    Refuses(409, 'The first request with this Idempotency-Key is still running.'),
    Refuses(422, 'The Idempotency-Key was used with another body.'),
  );
}

/** The transaction that an `@Idempotent()` handler must work in; undefined without an Idempotency-Key. */
export const Transaction = createParamDecorator(
  (_data: unknown, context: ExecutionContext): EntityManager | undefined =>
    context.switchToHttp().getRequest<FastifyRequest>().transaction,
);
