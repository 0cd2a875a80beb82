import { codeOf } from '../errors/code-of';

/** Why the listener of the metrics cannot be opened; the message is one sentence for a person. */
export class MetricsPortError extends Error {}

const SENTENCES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use: stop the program that uses it, or set METRICS_PORT',
  EACCES: 'may not be used by this user: set METRICS_PORT to 1024 or more',
};

/** @param error what listening failed with */
export function metricsPortRefused(host: string, port: number, error: unknown): MetricsPortError {
  const code = codeOf(error);
  const sentence = SENTENCES[code];
  return new MetricsPortError(
    sentence === undefined
      ? `${host} is no address of this machine (${code}): set METRICS_HOST to one that is.`
      : `${host}:${port}, meant for the metrics, ${sentence}.`,
  );
}

export function metricsPortIsPort(port: number): MetricsPortError {
  return new MetricsPortError(`METRICS_PORT and PORT are both ${port}: set METRICS_PORT to another port.`);
}
