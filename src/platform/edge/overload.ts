import type { FastifyBaseLogger } from 'fastify';

/** The outcomes at MAX_CONNECTIONS: an idle or slow connection is `closed` for a new one, or the new one is `refused`. */
export type Closure = 'closed' | 'refused';

/** An episode ends below this share of the limit, so that a single connection does not begin the next one. */
const EPISODE_END = 0.9;

/** Counts the connections closed because of MAX_CONNECTIONS, and logs one line for each episode at the limit. */
export class Overload {
  /** Since the start of the process. */
  readonly counts: Record<Closure, number> = { closed: 0, refused: 0 };
  private isOngoing = false;

  constructor(
    private readonly maxConnections: number,
    private readonly log: FastifyBaseLogger,
  ) {}

  count(outcome: Closure): void {
    this.counts[outcome] += 1;
    if (this.isOngoing) return;
    this.isOngoing = true;
    this.log.warn(
      { maxConnections: this.maxConnections },
      'MAX_CONNECTIONS is reached. For each new connection the one that has been idle longest is closed.',
    );
  }

  /** @param open the number of open connections */
  update(open: number): void {
    if (open < this.maxConnections * EPISODE_END) this.isOngoing = false;
  }
}
