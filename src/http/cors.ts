import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { COMMON_HEADERS, COMPONENT_HEADERS } from '../api/operation/header-catalogue';
import { framingError } from './framing';

/**
 * Allows cross-origin use by the allowed origins (Fetch standard, CORS protocol). It runs before the guards,
 * because browsers send a preflight without a key. For other origins the service behaves as without CORS.
 */
export function enableCors(app: NestFastifyApplication, origins: readonly string[]) {
  if (origins.length === 0) return;
  const exposedHeaders = ['Allow', ...Object.keys({ ...COMPONENT_HEADERS, ...COMMON_HEADERS })];
  app.enableCors({
    delegator: ({ headers, raw }, decide) => {
      const { origin, upgrade, 'access-control-request-method': asked } = headers;
      const isAllowed = origin !== undefined && origins.includes(origin);
      decide(null, {
        origin: isAllowed ? origin : false,
        // The hook of framing.ts runs later, so that its errors have these headers, too.
        preflight: asked !== undefined && upgrade === undefined && !framingError(raw),
        methods: ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'],
        exposedHeaders,
        // In seconds.
        maxAge: 600,
      });
    },
  });
}
