import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import type { EntityManager } from 'typeorm';
import { parseIdempotencyKey } from './idempotency-key';
import type { StoredAnswer } from './idempotency.repository';
import { IdempotencyService, type KeyedRequest } from './idempotency.service';

declare module 'fastify' {
  interface FastifyRequest {
    /** The transaction that the work of a request with an Idempotency-Key belongs to. */
    transaction?: EntityManager;
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Runs the handler of an `@Idempotent()` route inside the transaction of its key. Without a key it does nothing. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: IdempotencyService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const header = request.headers['idempotency-key'];
    if (header === undefined) return next.handle();
    const keyed = keyedRequest(request, parseIdempotencyKey(String(header)));
    return from(this.answer(keyed, request, http.getResponse<FastifyReply>(), next));
  }

  /** @returns the body as a string: what was stored is, byte for byte, what is sent */
  private async answer(
    keyed: KeyedRequest,
    request: FastifyRequest,
    reply: FastifyReply,
    next: CallHandler,
  ): Promise<string> {
    try {
      const { status, location, body, isReplay } = await this.idempotency.answer(keyed, (transaction) => {
        request.transaction = transaction;
        return handle(next, reply);
      });
      if (isReplay) reply.code(status).header('Idempotent-Replayed', 'true');
      if (location !== null) reply.header('Location', location);
      reply.type(JSON_TYPE);
      return body;
    } catch (error) {
      // The work was taken back, and what it had made is nowhere.
      reply.removeHeader('Location');
      throw error;
    }
  }
}

/** The answer as the route's own serializer prints it. */
async function handle(next: CallHandler, reply: FastifyReply): Promise<StoredAnswer> {
  const value: unknown = await lastValueFrom(next.handle());
  const location = reply.getHeader('Location');
  const body = reply.serialize(value);
  if (typeof body !== 'string') throw new Error('only JSON can be answered again');
  return { status: reply.statusCode, location: location === undefined ? null : String(location), body };
}

function keyedRequest({ principal, method, url, rawBody }: FastifyRequest, key: string): KeyedRequest {
  if (!principal) throw new Error('an @Idempotent() route must ask for a key: whose work is it?');
  const [path = ''] = url.split('?', 1);
  return { accountId: principal.accountId, method, path, key, body: rawBody };
}
