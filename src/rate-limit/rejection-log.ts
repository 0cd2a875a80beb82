import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Clock } from '../clock';
import { exhausted, MINUTE_MS } from './counters';
import type { Decision } from './rate-limit.store';

const SWEEP_INTERVAL_MS = 1_000;
/** Keys and addresses that are told apart; further ones share a count. */
const MAX_OWNERS = 1_000;
const OTHERS = 'others';

/** The 429s of one key or address within a minute, after the first. */
interface Count {
  readonly verdict: Decision['verdict'];
  readonly beganAt: number;
  readonly endsAt: number;
  /** Whose they are, for the log. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly log: FastifyRequest['log'];
  rejected: number;
}

/**
 * Keeps the log small beside a client that ignores its limit: of each key or address, window and minute the first 429
 * has a line of its own, and the others are counted in one.
 */
@Injectable()
export class RejectionLog implements OnModuleInit, OnApplicationShutdown {
  private readonly counts = new Map<string, Count>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly clock: Clock) {}

  onModuleInit(): void {
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref();
  }

  /** Runs when the last request has its response. */
  onApplicationShutdown(): void {
    clearInterval(this.timer);
    for (const owner of this.counts.keys()) this.close(owner);
  }

  /**
   * Counts a 429.
   *
   * @param owner a key's id or an address
   * @returns true if it needs no line of its own
   */
  count(owner: string, request: FastifyRequest, decision: Decision): boolean {
    const isKnown = this.counts.has(owner) || this.counts.size < MAX_OWNERS;
    const name = isKnown ? owner : OTHERS;
    const count = this.counts.get(name);
    // The verdicts of different owners alternate.
    if (count && (!isKnown || count.verdict === decision.verdict) && this.isRunning(count)) {
      count.rejected += 1;
      return true;
    }
    this.close(name);
    this.counts.set(name, this.begin(request, decision, isKnown));
    return false;
  }

  private begin(request: FastifyRequest, decision: Decision, isKnown: boolean): Count {
    const { verdict, windows, bannedUntil, now } = decision;
    const beganAt = this.clock.now();
    const left = (bannedUntil ?? exhausted(windows).resetAt) - now;
    const facts = request.logFacts ?? { ip: request.ip };
    return {
      verdict,
      beganAt,
      endsAt: beganAt + Math.min(left, MINUTE_MS),
      facts: isKnown ? facts : { owners: OTHERS },
      log: request.server.log,
      rejected: 0,
    };
  }

  /** False too if the clock was set back behind the beginning. */
  private isRunning({ beganAt, endsAt }: Count): boolean {
    const now = this.clock.now();
    return beganAt <= now && now < endsAt;
  }

  private sweep(): void {
    for (const [owner, count] of this.counts) if (!this.isRunning(count)) this.close(owner);
  }

  private close(owner: string): void {
    const count = this.counts.get(owner);
    this.counts.delete(owner);
    if (!count || count.rejected === 0) return;
    const { verdict, facts, rejected, log } = count;
    log.info({ status: 429, verdict, ...facts, rejected }, 'requests rejected by the rate limit');
  }
}
