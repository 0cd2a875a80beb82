import { FastifyAdapter } from '@nestjs/platform-fastify';
import { errorCodes, type FastifyError } from 'fastify';
import type { ApiError } from '../errors/api-error';
import { JSON_ONLY, malformedRequest, routeNotFound, unsupportedMediaType } from '../errors/http.errors';

/**
 * Nest's adapter for Fastify, with an ApiError instead of an HttpException for a request that Fastify rejects. So every
 * HttpException that reaches the filter comes from a module.
 */
export class Adapter extends FastifyAdapter {
  override mapException(error: unknown): unknown {
    return isRejectedByFastify(error) ? fromFastifyError(error) : super.mapException(error);
  }

  /** Sets nothing: `app/create-app.ts` sets the handler. */
  override setNotFoundHandler() {
    return this.getInstance();
  }
}

/** Plugins of a module may throw errors of Fastify's class, too, but with other codes. */
function isRejectedByFastify(error: unknown): error is FastifyError {
  if (!(error instanceof Error) || error.name !== 'FastifyError') return false;
  const { code = '', statusCode = 500 }: Partial<FastifyError> = error;
  return code in errorCodes && statusCode < 500;
}

function fromFastifyError({ statusCode }: FastifyError): ApiError {
  if (statusCode === 404) return routeNotFound();
  return statusCode === 415 ? unsupportedMediaType(JSON_ONLY) : malformedRequest();
}
