import type { FastifyInstance } from 'fastify';
import type { DatabaseHealth } from '../platform/database/database-health';
import { platformErrors } from '../platform/errors/platform.errors';

const OK = { status: 'ok' } as const;

/** Serves the health checks for load balancers and orchestrators. */
export function serveHealth(fastify: FastifyInstance, database: DatabaseHealth): void {
  const config = { public: true, probe: true };
  fastify.get('/livez', { config }, () => OK);
  fastify.get('/readyz', { config }, async () => {
    if (!fastify.server.listening) throw platformErrors.service_unavailable();
    await database.ping();
    return OK;
  });
}
