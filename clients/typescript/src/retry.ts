import { AnimalStoreError } from './errors.js';

/** A longer timer ends immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 10_000;

/** The request did not arrive, or the service or a proxy is unavailable for a moment. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** The causes with which fetch of Node.js fails before it sends a request, by their code or message. */
const UNSENT_CAUSES: ReadonlySet<string> = new Set([
  'bad port',
  'unknown scheme',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** The request cannot be sent. */
export class UnsentError extends TypeError {}

export interface RetryOptions {
  /** The time after which no retry of a call begins, in milliseconds. Default 120,000: two minutes of the rate limit. */
  readonly budgetMs?: number;
  /** The most retries after failures without `Retry-After`, such as lost connections. Default 5. */
  readonly maxRetries?: number;
  /** Called before each wait, for logs. */
  readonly onWait?: (wait: Wait) => void;
}

export interface Wait {
  readonly error: unknown;
  readonly delayMs: number;
}

/**
 * Repeats an attempt until it succeeds, for as long as the options allow.
 *
 * @throws the error of the last attempt, immediately if the next wait would exceed the budget
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { budgetMs = 120_000, maxRetries = 5, onWait }: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  // The system clock may be set while the call waits.
  const deadline = performance.now() + Math.min(budgetMs, MAX_TIMER_MS);
  for (let failures = 0, withoutRetryAfter = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (!isRetried(error)) throw error;
      const retryAfterSeconds = error instanceof AnimalStoreError ? error.retryAfterSeconds : undefined;
      if (retryAfterSeconds === undefined) withoutRetryAfter += 1;
      const delayMs = (retryAfterSeconds ?? 0) * 1_000 + jitterMs(failures);
      if (withoutRetryAfter > maxRetries || performance.now() + delayMs > deadline) throw error;
      onWait?.({ error, delayMs });
      signal?.throwIfAborted();
      await sleep(delayMs, signal);
    }
  }
}

/** An error that is not a response is a lost connection or a timeout, unless the program has caused it. */
function isRetried(error: unknown): boolean {
  if (error instanceof AnimalStoreError)
    return RETRIED_STATUSES.has(error.status) || error.code === 'idempotency_key_in_use';
  if (!(error instanceof Error)) return true;
  const { code, message }: { code?: string; message?: string } = error.cause ?? {};
  // `digest` marks an error of Next.js, which must reach it.
  return !(error instanceof UnsentError || 'digest' in error || UNSENT_CAUSES.has(code ?? message ?? ''));
}

/** Exponential backoff with full jitter, so that clients that failed together do not return together. */
function jitterMs(failures: number): number {
  return Math.random() * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures);
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
