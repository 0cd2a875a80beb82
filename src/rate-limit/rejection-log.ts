import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Clock } from '../platform/runtime/clock';
import { MINUTE_MS } from '../platform/runtime/time';
import { exhaustedWindow } from './counters';
import type { Decision } from './rate-limit.store';

const SWEEP_INTERVAL_MS = 1_000;
/** Most keys and addresses with a count of their own; further ones share a count. */
const MAX_OWNERS = 1_000;
const OTHERS = 'others';

type Facts = Readonly<Record<string, unknown>>;

/** The 429s of one key or address within a minute, without the first. */
interface Count {
  readonly verdict: Decision['verdict'];
  readonly beganAt: number;
  readonly endsAt: number;
  /** The account and key, or the address, for the log. */
  readonly facts: Facts;
  readonly log: FastifyRequest['log'];
  rejected: number;
}

/**
 * Keeps the log small if a client ignores its limit. The first 429 of a key or address in a window and minute has a log
 * line; the others are counted in one line.
 */
@Injectable()
export class RejectionLog implements OnModuleInit, OnApplicationShutdown {
  private readonly counts = new Map<string, Count>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly clock: Clock) {}

  onModuleInit(): void {
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref();
  }

  /** Runs after the last response. */
  onApplicationShutdown(): void {
    clearInterval(this.timer);
    for (const owner of this.counts.keys()) this.close(owner);
  }

  /**
   * Counts a 429.
   *
   * @param owner a key's id or an address, with the route if its own limit rejected the request
   * @param facts further facts of the line
   * @returns true if the 429 needs no log line
   */
  count(owner: string, request: FastifyRequest, decision: Decision, facts: Facts = {}): boolean {
    const isKnown = this.counts.has(owner) || this.counts.size < MAX_OWNERS;
    const name = isKnown ? owner : OTHERS;
    const count = this.counts.get(name);
    // The shared count has one verdict, although its owners' verdicts differ.
    if (count && (!isKnown || count.verdict === decision.verdict) && this.isRunning(count)) {
      count.rejected += 1;
      return true;
    }
    this.close(name);
    this.counts.set(name, this.begin(request, decision, isKnown, facts));
    return false;
  }

  private begin(request: FastifyRequest, decision: Decision, isKnown: boolean, added: Facts): Count {
    const { verdict, windows, bannedUntil, now } = decision;
    const beganAt = this.clock.now();
    const left = (bannedUntil ?? exhaustedWindow(windows).resetAt) - now;
    const facts = { ...(request.logFacts ?? { ip: request.ip }), ...added };
    return {
      verdict,
      beganAt,
      endsAt: beganAt + Math.min(left, MINUTE_MS),
      facts: isKnown ? facts : { owners: OTHERS },
      log: request.server.log,
      rejected: 0,
    };
  }

  /** True until the count ends. A clock that was set back to a time before the beginning ends it, too. */
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
