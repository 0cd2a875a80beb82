import { hash } from 'node:crypto';
import {
  type ArgumentMetadata,
  createParamDecorator,
  type ExecutionContext,
  Global,
  Inject,
  Injectable,
  Module,
  type PipeTransform,
} from '@nestjs/common';
import { ApiHeader, type ApiHeaderOptions } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import { CONFIG, type Config } from '../config/config';
import { Sql } from '../database/sql';
import { serializeJson } from '../entity-tags/entity-tag';
import { text } from '../errors/error.schemas';
import { JSON_TYPE } from '../errors/media-types';
import { platformErrors, validationFailed } from '../errors/platform.errors';
import { addParameterFacts } from '../routes/route-facts';
import { setLocation } from '../routes/resource-url';
import { Clock } from '../runtime/clock';
import { seal, unseal } from '../runtime/seal';
import { IdempotencyRepository, type StoredResponse } from './idempotency.repository';

const MAX_LENGTH = 255;
const VISIBLE_ASCII = new RegExp(`^[\\x21-\\x7e]{1,${MAX_LENGTH}}$`);

/** A structured field string (RFC 8941, 3.3.3): a backslash escapes quotes and backslashes. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/** The bare form, or the quoted form, in which a backslash precedes quotes and backslashes. */
const PATTERN = String.raw`^([!#-~][!-~]{0,254}|"([!#-\[\]-~]|\\["\\]){1,255}")$`;

/** The request header of an idempotent operation, in the OpenAPI document. Swagger UI would send an example with every request. */
export const IDEMPOTENCY_KEY_HEADER: ApiHeaderOptions = {
  name: 'Idempotency-Key',
  required: false,
  description:
    'Makes retries safe: for 24 h a request with the same key and body gets the first response again. The key is a text of 1 to 255 visible ASCII characters, bare or quoted, such as a UUID. Use a new key for each new request.',
  schema: text(512, PATTERN, { minLength: 1 }),
};

/** Gets the transaction that it must use, or undefined if the request has no Idempotency-Key. */
type Work<T> = (transaction?: EntityManager) => Promise<T>;

/**
 * Does the work of a request. With an Idempotency-Key it is done at most once within 24 h, per account, method, path and
 * key, and later requests get the first response.
 *
 * @returns the result of the work; with a key the printed body, so that the stored bytes equal the sent bytes
 * @throws ApiError `validation_failed` for a bad key; `idempotency_key_in_use` while the first request is running;
 * `idempotency_key_reused` if the body differs from the first one
 */
export type Once = <T>(work: Work<T>) => Promise<T | string>;

// Not the reply: Fastify's can be awaited, and Nest would wait for the response.
const ContextOfRequest = createParamDecorator((_sealed: string | undefined, context) => context);

@Injectable()
class OncePipe implements PipeTransform<ExecutionContext, Once> {
  constructor(
    private readonly sql: Sql,
    private readonly keys: IdempotencyRepository,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  transform(context: ExecutionContext, { data: sealed }: ArgumentMetadata): Once {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const { request } = reply;
    request.uncalledOnce = context;
    return (work) => {
      request.uncalledOnce = undefined;
      const header = request.headers['idempotency-key'];
      return header === undefined ? work() : this.runOnce(parseKey(String(header)), reply, sealed, work);
    };
  }

  private async runOnce(
    key: string,
    reply: FastifyReply,
    sealed: string | undefined,
    work: Work<unknown>,
  ): Promise<string> {
    const { rawBody = '' } = reply.request;
    const id = idOf(reply.request, key);
    const cipherKey = sealed ? cipherKeyOf(reply.request, key) : undefined;
    // Another API key sends another request, and gets 422.
    const parts = [cipherKey ?? '', rawBody].map((part) => Buffer.from(part));
    const bodyHash = hash('sha256', Buffer.concat(parts), 'buffer');
    try {
      const { status, location, body, isReplay } = await this.sql.transaction(async (transaction) => {
        // FIND begins after the lock is granted, so it sees the commit of the lock's previous holder.
        const isGranted = await this.keys.tryLock(id, transaction);
        const first = await this.keys.find(id, transaction);
        // A repetition of a finished request may also hold the lock: it only reads.
        if (!first && !isGranted) throw platformErrors.idempotency_key_in_use();
        if (first && !first.bodyHash.equals(bodyHash)) throw platformErrors.idempotency_key_reused();
        if (first) return { ...first, body: opened(first.body, cipherKey), isReplay: true };
        const response = this.responseOf(reply, await work(transaction), bodyHash);
        // The key of a failed request can be used again.
        const isSuccess = response.status >= 200 && response.status < 300;
        const stored = { ...response, body: closed(response.body, cipherKey) };
        if (isSuccess) await this.keys.store(id, this.clock.now(), stored, transaction);
        return { ...response, isReplay: false };
      });
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

  /** Prints the response with the route's own serializer. */
  private responseOf(reply: FastifyReply, value: unknown, bodyHash: Buffer): StoredResponse {
    const body = serializeJson(reply, value);
    if (reply.statusCode === 201) setLocation(reply, this.config.publicBaseUrl, value);
    const location = reply.getHeader('Location')?.toString() ?? null;
    return { status: reply.statusCode, location, body, bodyHash };
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
  const key = header.startsWith('"') ? QUOTED.exec(header)?.[1]?.replaceAll(/\\(["\\])/g, '$1') : header;
  if (key !== undefined && VISIBLE_ASCII.test(key)) return key;
  const detail = `Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters, sent once`;
  throw validationFailed([{ header: 'Idempotency-Key', detail }]);
}

const UUID = /[0-9A-F]{8}-(?:[0-9A-F]{4}-){3}[0-9A-F]{12}/gi;

/**
 * Hashes what the key belongs to. The path is the route and its parameters, so that every spelling of a URL names the
 * same request, also in a name (Unicode) and a UUID. Unambiguous, because only the last part could contain a line break.
 */
function idOf({ principal, method, routeOptions, params }: FastifyRequest, key: string): Buffer {
  if (!principal) throw new Error('an idempotent operation must require a key: the account is unknown');
  const given = JSON.stringify(params).normalize();
  const path = `${routeOptions.url} ${given.replaceAll(UUID, (id) => id.toLowerCase())}`;
  return hash('sha256', [principal.accountId, method, path, key].join('\n'), 'buffer');
}

/**
 * Returns the cipher key of a stored response with a secret, because the database must not hold one: a hash of the
 * `Authorization` header, of which the database has only another hash.
 */
function cipherKeyOf({ headers }: FastifyRequest, key: string): Buffer {
  return hash('sha256', `${headers.authorization}\n${key}`, 'buffer');
}

/** Encrypts the stored body of a response with a secret. */
function closed(body: string, cipherKey: Buffer | undefined): string {
  return cipherKey ? seal(cipherKey, Buffer.from(body)).toString('base64') : body;
}

function opened(stored: string, cipherKey: Buffer | undefined): string {
  return cipherKey ? unseal(cipherKey, Buffer.from(stored, 'base64')).toString() : stored;
}

/**
 * Injects the function that does the work of an idempotent operation, which has `idempotent: true`.
 *
 * @param options.isSealed true for a response with a secret: it is stored encrypted, and only the API key of the first
 * request gets it again
 */
export function Idempotent({ isSealed = false } = {}): ParameterDecorator {
  return (target, key = '', index) => {
    ContextOfRequest(isSealed ? 'sealed' : undefined, OncePipe)(target, key, index);
    const { idempotency_key_in_use: inUse, idempotency_key_reused: reused } = platformErrors;
    const decorators = [ApiHeader(IDEMPOTENCY_KEY_HEADER)];
    addParameterFacts(target, key, { rejects: [inUse, reused], decorators });
  };
}

/** Rejects a success of a handler that did its work without `once`. @throws Error */
export function requireOnce({ request, statusCode }: FastifyReply): void {
  const { uncalledOnce: context } = request;
  if (!context || statusCode >= 400) return;
  request.uncalledOnce = undefined;
  const handler = `${context.getClass().name}.${context.getHandler().name}`;
  throw new Error(`${handler} has @Idempotent() and does not call it: return once((transaction) => …).`);
}

/** For `@Idempotent()` in every module. */
@Global()
@Module({ providers: [IdempotencyRepository], exports: [IdempotencyRepository] })
export class IdempotencyModule {}
