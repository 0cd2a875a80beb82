import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { COMMON_HEADERS, COMPONENT_HEADERS } from '../../platform/api-docs/header-catalogue';
import { framingError } from './framing';
import type { RouteMethods } from './route-methods';

/**
 * Allows cross-origin use by the allowed origins (Fetch standard, CORS protocol). It runs before the guards,
 * because browsers send a preflight without a key. For other origins the service behaves as without CORS.
 *
 * @param routes the methods of all URLs, which a preflight may ask for
 */
export function enableCors(app: NestFastifyApplication, origins: readonly string[], routes: RouteMethods) {
  if (origins.length === 0) return;
  const exposedHeaders = ['Allow', ...Object.keys({ ...COMPONENT_HEADERS, ...COMMON_HEADERS })];
  app.enableCors({
    delegator: ({ headers, raw }, decide) => {
      const { origin, upgrade, 'access-control-request-method': asked } = headers;
      const isAllowed = origin !== undefined && origins.includes(origin);
      decide(null, {
        origin: isAllowed ? origin : false,
        // The hook of framing.ts runs later.
        preflight: asked !== undefined && upgrade === undefined && !framingError(raw),
        methods: routes.served(),
        exposedHeaders,
        // In seconds.
        maxAge: 600,
      });
    },
  });
}
