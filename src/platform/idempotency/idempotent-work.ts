import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import { JSON_TYPE } from '../errors/media-types';
import { serializeJson } from '../entity-tags/representation';
import { parseIdempotencyKey } from './idempotency-key';
import type { StoredResponse } from './idempotency.repository';
import { IdempotencyService, type KeyedRequest } from './idempotency.service';

/** The work of an idempotent operation, which runs after the request has been validated. */
@Injectable()
export class IdempotentWork {
  constructor(private readonly idempotency: IdempotencyService) {}

  /**
   * Does the work. With an Idempotency-Key the work is done at most once, and later requests get the first response.
   *
   * @param work gets the transaction that it must use, or undefined if the request has no key
   * @returns the result of the work; with a key the printed body, so that the stored bytes equal the sent bytes
   * @throws ApiError `validation_failed` for a bad key, `idempotency_key_in_use`, `idempotency_key_reused`
   */
  run<T>(reply: FastifyReply, work: (transaction?: EntityManager) => Promise<T>): Promise<T | string> {
    const { request } = reply;
    const header = request.headers['idempotency-key'];
    const { idempotent } = request.routeOptions.config;
    if (!idempotent) throw new Error('IdempotentWork needs idempotent: true in the @Operation of its route');
    if (header === undefined) return work();
    return this.runWithKey(keyedRequest(request, parseIdempotencyKey(String(header))), reply, work);
  }

  private async runWithKey(
    request: KeyedRequest,
    reply: FastifyReply,
    work: (transaction: EntityManager) => Promise<unknown>,
  ): Promise<string> {
    try {
      const { status, location, body, isReplay } = await this.idempotency.runOnce(
        request,
        async (transaction) => responseOf(reply, await work(transaction)),
      );
      if (isReplay) reply.code(status).header('Idempotent-Replayed', 'true');
      if (location !== null) reply.header('Location', location);
      reply.type(JSON_TYPE);
      return body;
    } catch (error) {
      // The transaction was rolled back, so the created resource does not exist.
      reply.removeHeader('Location');
      throw error;
    }
  }
}

/** Prints the response with the route's own serializer. */
function responseOf(reply: FastifyReply, value: unknown): StoredResponse {
  const location = reply.getHeader('Location');
  const body = serializeJson(reply, value);
  return { status: reply.statusCode, location: location === undefined ? null : String(location), body };
}

/** The path is the route and its parameters, so that every spelling of a URL names the same request. */
function keyedRequest(request: FastifyRequest, key: string): KeyedRequest {
  const { principal, method, routeOptions, params, rawBody } = request;
  if (!principal) throw new Error('an idempotent operation must require a key: the account is unknown');
  const path = `${routeOptions.url} ${JSON.stringify(params)}`;
  return { accountId: principal.accountId, method, path, key, body: rawBody };
}
