import { constants } from 'node:os';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Status of a process that a signal ended, for a shell: 128 and the number of the signal. */
const SIGNAL_STATUS = 128;

function exitOn(signal: NodeJS.Signals): void {
  process.exit(SIGNAL_STATUS + constants.signals[signal]);
}

/**
 * Ends the process on a stop signal, until `onStopSignal` replaces this. As process 1 of a container a process without
 * a handler ignores the signal.
 */
export function exitOnStopSignal(): void {
  for (const signal of STOP_SIGNALS) {
    if (!process.listeners(signal).includes(exitOn)) process.on(signal, exitOn);
  }
}

/** Calls `stop` on a stop signal, one that has arrived and was not handled yet included. */
export function onStopSignal(stop: () => void): void {
  // In this order: without a listener Node.js would drop a signal that has arrived.
  for (const signal of STOP_SIGNALS) process.on(signal, stop).off(signal, exitOn);
}
