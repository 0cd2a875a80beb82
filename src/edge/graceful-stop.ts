import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

/** For how long clients are told to use another connection before the service stops to listen. */
const NOTICE_MS = 200;
/** How long a connection without a request waiting on it stays open after that: a request may be on its way. */
const QUIET_LIMIT_MS = 500;
/** How long a request may take to arrive whole. */
const ARRIVAL_LIMIT_MS = 2_000;
/** Longer than any request can wait for the database; shorter than the 10 s that Docker gives a stop. */
const DRAIN_LIMIT_MS = 9_000;
const CHECK_INTERVAL_MS = 50;

/** Turns of the event loop in which what the kernel has already accepted becomes a connection of ours. */
const SETTLING_TURNS = 10;

/**
 * Prepares a stop that answers the requests in flight. Answers ask the client to use another connection; the listening
 * socket is closed when its backlog is empty; then what waits for an answer gets it, and what never asks is not waited
 * for.
 *
 * @returns the stop; it resolves when the application has closed
 */
export function prepareGracefulStop(app: NestFastifyApplication): () => Promise<void> {
  const server = app.getHttpServer();
  const fastify = app.getHttpAdapter().getInstance();
  const { connections } = fastify;
  let isStopping = false;
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping) reply.header('Connection', 'close');
    done();
  });
  return async () => {
    isStopping = true;
    await sleep(NOTICE_MS);
    for (let turn = 0; turn < SETTLING_TURNS; turn += 1) await nextTurn();
    const closedAt = performance.now();
    const check = setInterval(() => {
      const waited = performance.now() - closedAt;
      if (waited > QUIET_LIMIT_MS) connections.destroyQuiet();
      if (waited > ARRIVAL_LIMIT_MS) connections.destroyUnfinished();
      if (waited > DRAIN_LIMIT_MS) server.closeAllConnections();
    }, CHECK_INTERVAL_MS);
    await app.close();
    clearInterval(check);
  };
}
