import { type IncomingMessage, METHODS } from 'node:http';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config';
import type { ApiError } from '../api/errors/api-error';
import { commonErrors } from '../api/errors/common.errors';
import { parseJson } from '../api/fields/json';
import { countHeader } from './framing';
import type { StrictHandling } from './strict-handling';

/** The methods whose body has a meaning. A GET, HEAD or DELETE may have one, which is ignored (RFC 9110, 9.3). */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

/** The first preference of this name counts (RFC 7240, section 2). */
const HANDLING = /(?:^|,)\s*handling\s*=\s*"?(\w*)/i;

/** Makes Fastify accept every method of Node.js, and leave bodies unread until the last guard reads them. */
export function readJsonBodies(app: NestFastifyApplication, config: Config, strictHandling: StrictHandling) {
  const fastify = app.getHttpAdapter().getInstance();
  // Node.js never hands CONNECT to a route.
  for (const method of METHODS.filter((each) => each !== 'CONNECT'))
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  // Nest runs it after the guards of modules.
  app.useGlobalGuards(new JsonBodyGuard(config, strictHandling));
}

/**
 * Checks the media type of a body, then its size, then its text, then its members if the client asks for it. It is the last
 * guard, so the others have admitted the request; and a guard, so `@Body()`, `@Body('name')` and `@Req()` have the body. An
 * empty body counts as no body.
 */
class JsonBodyGuard implements CanActivate {
  constructor(
    private readonly config: Config,
    private readonly strictHandling: StrictHandling,
  ) {}

  /** @throws ApiError 413, 415 or 400 */
  canActivate(context: ExecutionContext): true | Promise<true> {
    const [, reply] = context.getArgs<[FastifyRequest, FastifyReply]>();
    const { headers, method, raw } = reply.request;
    const hasContent =
      headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    const isRead = hasContent && WITH_BODY.has(method) && !reply.request.routeOptions.config.unrouted;
    const isStrict = HANDLING.exec(String(headers['prefer']))?.[1]?.toLowerCase() === 'strict';
    // A list in another form, `id[]=1`, would be ignored and return everything.
    const isChecked = isStrict || /[[\]]|%5[bd]/i.test(raw.url ?? '');
    const work = async (): Promise<true> => {
      if (isRead) await this.read(reply);
      if (isChecked) await this.strictHandling.check(reply, isStrict);
      return true;
    };
    return isRead || isChecked ? work() : true;
  }

  private async read({ request, raw: response }: FastifyReply): Promise<void> {
    const { headers, raw } = request;
    const typeError = mediaTypeError(request);
    const limit = this.config.bodyLimitBytes;
    const message = `The body is larger than ${limit} bytes.`;
    /** Returns the error of a body that has at least so many bytes. */
    const errorAt = (bytes: number): ApiError | undefined => {
      if (bytes > 0 && typeError) return typeError;
      return bytes > limit ? commonErrors.payload_too_large({ message }) : undefined;
    };
    const error = errorAt(Number(headers['content-length'] ?? 0)) ?? raw.bodyError;
    if (error) throw error;
    // A client that waits for it never sends a body that the service would discard (RFC 9110, 10.1.1).
    if (headers.expect !== undefined && raw.httpVersion === '1.1') response.writeContinue();
    const bytes = await collect(raw, errorAt);
    if (bytes.length === 0) return;
    request.rawBody = bytes;
    request.body = parseJson(bytes);
  }
}

/** Reads a body until it ends, or until the number of its bytes is an error. */
function collect(raw: IncomingMessage, errorAt: (bytes: number) => ApiError | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const fail = (error: ApiError): void => {
      raw.off('data', take).resume();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      const error = errorAt(bytes);
      if (error) fail(error);
    };
    raw.on('data', take).on('end', () => resolve(Buffer.concat(chunks, bytes)));
    // The body is broken or late. If the client has disconnected, the error serves the log line only.
    raw.on('error', () => fail(raw.bodyError ?? commonErrors.malformed_request()));
  });
}

/** Checks Content-Encoding and Content-Type. JSON has no charset parameter, so it is ignored (RFC 8259, 11). */
function mediaTypeError({ headers, raw }: FastifyRequest): ApiError | undefined {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') {
    const message = 'Content-Encoding is not supported: send the body as it is.';
    return commonErrors.unsupported_media_type({ message });
  }
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';', 1);
  const isOneType = countHeader(raw.rawHeaders, 'content-type') <= 1;
  if (isOneType && mediaType.trim().toLowerCase() === 'application/json') return undefined;
  return commonErrors.unsupported_media_type({ message: 'Content-Type must be application/json.' });
}
