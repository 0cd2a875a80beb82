import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

/** The times of a stop, in milliseconds; all but the first count from the moment at which it stops to listen. */
const LIMITS = {
  /** For how long clients are told to use another connection before the service stops to listen. */
  noticeMs: 200,
  /** How long a connection without a request waiting on it stays open: a request may be on its way. */
  quietMs: 500,
  /** How long a request may take to arrive whole. */
  arrivalMs: 2_000,
  /** For how long a client may take nothing of its responses. */
  stallMs: 2_000,
  /** After this every connection is ended. Longer than any request can wait for the database. */
  drainMs: 9_000,
} as const;

export type StopLimits = { readonly [K in keyof typeof LIMITS]: number };

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
export function prepareGracefulStop(
  app: NestFastifyApplication,
  limits: StopLimits = LIMITS,
): () => Promise<void> {
  const fastify = app.getHttpAdapter().getInstance();
  const { connections } = fastify;
  let isStopping = false;
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping) reply.header('Connection', 'close');
    done();
  });
  return async () => {
    isStopping = true;
    await sleep(limits.noticeMs);
    for (let turn = 0; turn < SETTLING_TURNS; turn += 1) await nextTurn();
    const closedAt = performance.now();
    const check = setInterval(() => {
      const waited = performance.now() - closedAt;
      if (waited > limits.quietMs) connections.destroyQuiet();
      if (waited > limits.arrivalMs) connections.destroyUnfinished();
      connections.destroyStalled(limits.stallMs);
      if (waited > limits.drainMs) connections.destroyAll();
    }, CHECK_INTERVAL_MS);
    await app.close();
    clearInterval(check);
  };
}
