import type { IncomingMessage } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { responseHeaders } from '../platform/api-docs/header-catalogue';
import { platformCodes } from '../platform/errors/platform.errors';
import { framingError } from './framing';
import type { RouteMethods } from './route-methods';

/** Cache-Control is CORS-safelisted; a browser reads the other header itself. */
const NOT_EXPOSED = new Set(['Access-Control-Allow-Origin', 'Cache-Control']);

/** The response headers that a script of an allowed origin may read: those of the catalogue and of the error codes. */
const EXPOSED_HEADERS = [
  ...new Set([
    ...responseHeaders.map(({ name }) => name),
    ...platformCodes.flatMap(({ header }) => header ?? []),
  ]),
]
  .filter((name) => !NOT_EXPOSED.has(name))
  .sort();

const PREFLIGHT_MAX_AGE_SECONDS = 600;

/**
 * Allows cross-origin use by the allowed origins (Fetch standard, CORS protocol). It runs before the guards,
 * because browsers send a preflight without a key. For other origins the service behaves as without CORS.
 *
 * @param routes the methods of all URLs, which a preflight may ask for
 */
export function enableCors(
  app: NestFastifyApplication,
  origins: readonly string[],
  routes: RouteMethods,
): void {
  if (origins.length === 0) return;
  app.enableCors({
    delegator: ({ headers, raw }, decide) => {
      const { origin } = headers;
      const isAllowed = origin !== undefined && origins.includes(origin);
      decide(null, {
        origin: isAllowed ? origin : false,
        preflight: isPreflight(raw),
        methods: routes.served(),
        exposedHeaders: EXPOSED_HEADERS,
        maxAge: PREFLIGHT_MAX_AGE_SECONDS,
      });
    },
  });
}

/** A preflight with invalid framing is not treated as a preflight; the framing hook rejects it. */
function isPreflight(request: IncomingMessage): boolean {
  const { headers } = request;
  return (
    headers['access-control-request-method'] !== undefined &&
    headers.upgrade === undefined &&
    framingError(request) === undefined
  );
}
