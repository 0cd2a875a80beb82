import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

/** Longest that a stop waits for requests in flight before it ends their connections. */
const DRAIN_LIMIT_MS = 15_000;

/** How often connections that have become idle are closed: their clients could hold them for the keep-alive timeout. */
const IDLE_CHECK_INTERVAL_MS = 50;

/** Turns of the event loop in which what the kernel has already accepted or received becomes a request in flight. */
const SETTLING_TURNS = 10;

/**
 * Prepares a stop that answers every request that has reached this machine: the listening socket is closed only when
 * its backlog is empty, answers ask the client to use another connection, and idle connections are not waited for.
 *
 * @returns the stop; it resolves when the application has closed
 */
export function prepareGracefulStop(app: NestFastifyApplication): () => Promise<void> {
  let isStopping = false;
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onSend', (_request, reply, _payload, done) => {
      if (isStopping) reply.header('Connection', 'close');
      done();
    });
  return async () => {
    isStopping = true;
    for (let turn = 0; turn < SETTLING_TURNS; turn += 1) await nextTurn();
    const server = app.getHttpServer();
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_INTERVAL_MS);
    const limit = setTimeout(() => server.closeAllConnections(), DRAIN_LIMIT_MS);
    await app.close();
    clearInterval(idle);
    clearTimeout(limit);
  };
}
