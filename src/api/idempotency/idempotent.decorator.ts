import { hash } from 'node:crypto';
import {
  type ArgumentMetadata,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type PipeTransform,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import { text } from '../operation/header-catalogue';
import { Sql } from '../../database/sql';
import { serializeJson } from '../entity-tags/entity-tag';
import { JSON_TYPE } from '../errors/api-error';
import { commonErrors, validationFailed } from '../errors/common.errors';
import { addParameterFacts } from '../routes/route-facts';
import { IdempotencyRepository } from './idempotency.repository';

/** The bare form, or a structured field string (RFC 8941, 3.3.3), in which a backslash precedes quotes and backslashes. */
const PATTERN = String.raw`^([!#-~][!-~]{0,254}|"([!#-\[\]-~]|\\["\\]){1,255}")$`;
const FORM = new RegExp(PATTERN);

/** Gets the transaction that it must use, or undefined if the request has no Idempotency-Key. */
type Work<T> = (transaction?: EntityManager) => Promise<T>;

/**
 * Does the work of a request. With an Idempotency-Key it is done at most once within 24 h, per account, method, path and
 * key, and later requests get the first response.
 *
 * @returns the result of the work; with a key the printed body, so that the stored bytes equal the sent bytes
 * @throws ApiError `validation_failed` for a bad key; `idempotency_key_in_use` while the first request is running;
 * `idempotency_key_reused` if the body differs from the first one; `secret_already_shown` if the first response had a
 * secret
 */
export type Once = <T>(work: Work<T>) => Promise<T | string>;

// Not the reply: Fastify's can be awaited, and Nest would wait for the response.
const ContextOfRequest = createParamDecorator((_secretOf: string | undefined, context) => context);

@Injectable()
class OncePipe implements PipeTransform<ExecutionContext, Once> {
  constructor(
    private readonly sql: Sql,
    private readonly keys: IdempotencyRepository,
  ) {}

  transform(context: ExecutionContext, { data: secretOf }: ArgumentMetadata): Once {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const { 'idempotency-key': header } = reply.request.headers;
    return (work) =>
      header === undefined ? work() : this.runOnce(parseKey(String(header)), reply, secretOf, work);
  }

  private async runOnce(key: string, reply: FastifyReply, secretOf: string | undefined, work: Work<unknown>) {
    const { rawBody = '' } = reply.request;
    const id = idOf(reply.request, key);
    const bodyHash = hash('sha256', rawBody, 'buffer');
    const { status, location, body, isReplay } = await this.sql.transaction(async (transaction) => {
      const { first, isLocked } = await this.keys.lock(id, transaction);
      // Another repetition of a finished request may hold the lock: both only read.
      if (!first && !isLocked) throw commonErrors.idempotency_key_in_use();
      if (first && !first.bodyHash.equals(bodyHash)) throw commonErrors.idempotency_key_reused();
      if (first && secretOf !== undefined) {
        const message = `The first request with this Idempotency-Key has shown the secret of ${first.location}. If you do not have it, rotate it with a new Idempotency-Key, or remove the resource and create another.`;
        throw commonErrors.secret_already_shown({ message, headers: { Location: first.location ?? '' } });
      }
      if (first) return { ...first, isReplay: true };
      const value = await work(transaction);
      const response = {
        status: reply.statusCode,
        location: reply.locationOf(value) ?? null,
        body: value === undefined ? '' : serializeJson(reply, value),
        bodyHash,
      };
      // The database must not have a secret.
      const withoutSecret = secretOf !== undefined && { location: reply.urlOf(secretOf, value), body: '' };
      // The key of a failed request can be used again.
      const isSuccess = response.status >= 200 && response.status < 300;
      if (isSuccess) await this.keys.store(id, { ...response, ...withoutSecret }, transaction);
      return { ...response, isReplay: false };
    });
    if (location !== null) reply.header('Location', location);
    if (isReplay) reply.header('Idempotent-Replayed', 'true');
    reply.code(status).type(JSON_TYPE);
    return body;
  }
}

/**
 * Reads an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07). The draft requires the quoted form, and
 * clients send the bare form; both name the same key.
 *
 * @param header the value from Node, which joins two headers with a comma and a space; the space makes it invalid
 * @throws ApiError `validation_failed`
 */
function parseKey(header: string): string {
  if (!FORM.test(header))
    throw validationFailed(['Idempotency-Key must be 1 to 255 visible ASCII characters, sent once']);
  return header.startsWith('"') ? header.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : header;
}

/** Hashes what the key belongs to. Unambiguous, because only the last part could contain a line break. */
function idOf({ principal, method, routeOptions, params }: FastifyRequest, key: string): Buffer {
  if (!principal) throw new Error('an idempotent operation must require a key: the account is unknown');
  // Every spelling of a URL has the same route and parameters.
  const path = `${routeOptions.url} ${JSON.stringify(params)}`;
  return hash('sha256', [principal.accountId, method, path, key].join('\n'), 'buffer');
}

/**
 * Injects the function that does the work of an operation that accepts an Idempotency-Key.
 *
 * @param options.secretOf for a response with a secret, the path of the resource that has it, such as `/keys/:id`: the
 * response is not stored, and a repetition is 409 `secret_already_shown`
 */
export function Idempotent({ secretOf }: { readonly secretOf?: string } = {}): ParameterDecorator {
  return (target, key = '', index) => {
    ContextOfRequest(secretOf, OncePipe)(target, key, index);
    const { idempotency_key_in_use, idempotency_key_reused, secret_already_shown } = commonErrors;
    const ofSecrets = secretOf === undefined ? [] : [secret_already_shown];
    const rejects = [idempotency_key_in_use, ...ofSecrets, idempotency_key_reused];
    // Without an example: Swagger UI would send it with every request.
    const header = ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'Makes retries safe: for 24 h a request with the same key and body gets the first response again. The key is a text of 1 to 255 visible ASCII characters, bare or quoted, such as a UUID. Use a new key for each new request.',
      schema: text(512, PATTERN, { minLength: 1 }),
    });
    addParameterFacts(target, key, { decorators: [header], rejects });
  };
}
