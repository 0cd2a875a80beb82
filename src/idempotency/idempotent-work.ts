import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import { JSON_TYPE } from '../errors/error-reply';
import { printJson } from '../http/print-json';
import { parseIdempotencyKey } from './idempotency-key';
import type { StoredAnswer } from './idempotency.repository';
import { IdempotencyService, type KeyedRequest } from './idempotency.service';

/** The work of an `@Idempotent()` route, which runs when its request has been found valid. */
@Injectable()
export class IdempotentWork {
  constructor(private readonly idempotency: IdempotencyService) {}

  /**
   * Does the work, and with an Idempotency-Key at most once: later requests get the first answer.
   *
   * @param work gets the transaction that it must happen in; undefined without a key, and then it is on its own
   * @returns what the work returns or, with a key, the body as it was printed: what is stored is, byte for byte, what
   * is sent
   * @throws ApiError `validation_failed` for a bad key, `idempotency_key_in_use`, `idempotency_key_reused`
   */
  run<T>(reply: FastifyReply, work: (transaction?: EntityManager) => Promise<T>): Promise<T | string> {
    const { request } = reply;
    const header = request.headers['idempotency-key'];
    if (header === undefined || !request.routeOptions.config.idempotent) return work();
    return this.runOnce(keyedRequest(request, parseIdempotencyKey(String(header))), reply, work);
  }

  private async runOnce(
    request: KeyedRequest,
    reply: FastifyReply,
    work: (transaction: EntityManager) => Promise<unknown>,
  ): Promise<string> {
    try {
      const { status, location, body, isReplay } = await this.idempotency.answer(
        request,
        async (transaction) => answerOf(reply, await work(transaction)),
      );
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
function answerOf(reply: FastifyReply, value: unknown): StoredAnswer {
  const location = reply.getHeader('Location');
  const body = printJson(reply, value);
  return { status: reply.statusCode, location: location === undefined ? null : String(location), body };
}

/** The path is the route with its parameters, so that every spelling of an address is the same. */
function keyedRequest(request: FastifyRequest, key: string): KeyedRequest {
  const { principal, method, routeOptions, params, rawBody } = request;
  if (!principal) throw new Error('an @Idempotent() route must ask for a key: whose work is it?');
  const path = `${routeOptions.url} ${JSON.stringify(params)}`;
  return { accountId: principal.accountId, method, path, key, body: rawBody };
}
