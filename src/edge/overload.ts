import type { FastifyBaseLogger } from 'fastify';

/** What became of a connection at the limit: an idle or slow one was closed for a new one, or the new one was refused. */
export type Outcome = 'closed' | 'refused';

/** An episode ends below this share of the limit, so that one connection more or less does not begin another. */
const EPISODE_END = 0.9;

/** Counts the connections that MAX_CONNECTIONS cost, and logs one line for each episode at the limit. */
export class Overload {
  /** Since the start of the process. */
  readonly counts: Record<Outcome, number> = { closed: 0, refused: 0 };
  private isOngoing = false;

  constructor(
    private readonly maxConnections: number,
    private readonly log: FastifyBaseLogger,
  ) {}

  count(outcome: Outcome): void {
    this.counts[outcome] += 1;
    if (this.isOngoing) return;
    this.isOngoing = true;
    this.log.warn(
      { maxConnections: this.maxConnections },
      'MAX_CONNECTIONS is reached. For each new connection the one that has been idle longest is closed.',
    );
  }

  /** @param open connections that are open now */
  update(open: number): void {
    if (open < this.maxConnections * EPISODE_END) this.isOngoing = false;
  }
}
