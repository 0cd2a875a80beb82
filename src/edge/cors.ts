import type { IncomingMessage } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { framingRefusal } from './framing';
import { SERVED_METHODS } from './methods';

/** Response headers beyond the CORS-safelisted ones that a script of an allowed origin may read. */
const EXPOSED_HEADERS = [
  'Allow',
  'Deprecation',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'WWW-Authenticate',
  'X-Content-Type-Options',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
];

const PREFLIGHT_MAX_AGE_SECONDS = 600;

/**
 * Cross-origin use by the allowed origins (Fetch standard, CORS protocol). Nest runs it before the door, so a
 * preflight, which browsers send without a key, is answered there. Other origins see the service as without CORS.
 */
export function enableCors(app: NestFastifyApplication, origins: readonly string[]): void {
  if (origins.length === 0) return;
  app.enableCors({
    delegator: ({ headers, raw }, decide) => {
      const { origin } = headers;
      const isAllowed = origin !== undefined && origins.includes(origin);
      decide(null, {
        origin: isAllowed ? origin : false,
        preflight: isPreflight(raw),
        methods: [...SERVED_METHODS],
        exposedHeaders: EXPOSED_HEADERS,
        maxAge: PREFLIGHT_MAX_AGE_SECONDS,
      });
    },
  });
}

/** One whose framing is doubtful is none: the router's own hooks refuse it, and end the connection. */
function isPreflight(request: IncomingMessage): boolean {
  const { headers } = request;
  return (
    headers['access-control-request-method'] !== undefined &&
    headers.upgrade === undefined &&
    framingRefusal(request) === undefined
  );
}
