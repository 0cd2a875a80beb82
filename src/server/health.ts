import type { FastifyInstance } from 'fastify';
import type { Sql } from '../platform/database/sql';
import { platformErrors } from '../platform/errors/platform.errors';

const OK = { status: 'ok' } as const;

/** Serves the health checks for load balancers and orchestrators. */
export function serveHealth(
  fastify: FastifyInstance,
  sql: Sql,
  server: { readonly listening: boolean },
  check: () => Promise<void>,
): void {
  const config = { public: true };
  fastify.get('/livez', { config }, () => OK);
  fastify.get('/readyz', { config }, async () => {
    if (!server.listening) throw platformErrors.service_unavailable();
    await sql.ping(check);
    return OK;
  });
}
