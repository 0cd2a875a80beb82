import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Connections } from '../http/connections';

/** The times of the steps below. A request may be under way for `quietMs`, and wait for the database for `drainMs`. */
const LIMITS = { noticeMs: 200, quietMs: 500, drainMs: 9_000 };

const CHECK_INTERVAL_MS = 50;

/**
 * Closes the application; pending requests still get their responses:
 *
 * 1. For `noticeMs` responses ask the client to use another connection.
 * 2. The listening socket is closed when its backlog is empty.
 * 3. After `quietMs` connections without a request are destroyed, after `drainMs` all.
 */
export async function stopGracefully(app: NestFastifyApplication, limits = LIMITS): Promise<void> {
  const { server } = app.getHttpAdapter().getInstance();
  const connections = app.get(Connections);
  connections.isStopping = true;
  await sleep(limits.noticeMs);
  const closedAt = performance.now();
  const check = setInterval(() => {
    const waited = performance.now() - closedAt;
    if (waited > limits.quietMs) connections.destroyQuiet();
    if (waited > limits.drainMs) server.closeAllConnections();
  }, CHECK_INTERVAL_MS);
  await app.close();
  clearInterval(check);
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Exits with the status that a shell gives a process that a signal ended. */
function exitOn(signal: NodeJS.Signals): void {
  process.exit(128 + constants.signals[signal]);
}

/**
 * Ends the process on a stop signal, until `onStopSignal` replaces this. As process 1 of a container a process without
 * a handler ignores the signal.
 */
export function exitOnStopSignal(): void {
  const terminals = [0, 1, 2].filter((fd) => isatty(fd));
  // If a terminal was closed, Node.js cannot reset it at the exit, and aborts.
  process.once('exit', () => terminals.forEach((fd) => closeSync(fd)));
  for (const signal of STOP_SIGNALS) process.on(signal, exitOn);
}

/** Calls `stop` on a stop signal, also on one that has arrived and is not handled yet. */
export function onStopSignal(stop: () => void): void {
  // In this order: without a listener Node.js would drop a signal that has arrived.
  for (const signal of STOP_SIGNALS) process.on(signal, stop).off(signal, exitOn);
}
