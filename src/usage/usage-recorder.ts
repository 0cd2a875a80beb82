import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OutcomeUnknownError } from '../database/database-errors';
import { Clock } from '../time/clock';
import { PeriodicWork } from '../time/periodic-work';
import { DAY_MS, dateOf, SECOND_MS } from '../time/time';
import { ThrottleGuard } from '../rate-limit';
import { COUNTS, type Counts, type KeyDay, UsageRepository } from './usage.repository';
import { MAX_DAYS } from './usage.service';

/** With the time of a write a crash loses at most 5 s. */
const WRITE_INTERVAL_MS = 4 * SECOND_MS;
const NONE: Counts = { admitted: 0, rejected: 0, failed: 0, errors: 0 };

/** Counts the requests of each key and notes its last use, and stores both every few seconds and on shutdown. */
@Injectable()
export class UsageRecorder extends PeriodicWork {
  private days = new Map<string, KeyDay>();

  constructor(
    private readonly usage: UsageRepository,
    private readonly clock: Clock,
    private readonly limits: ThrottleGuard,
    private readonly host: HttpAdapterHost,
  ) {
    super('The writing of usage', WRITE_INTERVAL_MS, true);
  }

  override onModuleInit(): void | Promise<void> {
    // A request is counted when the windows count it: its client may leave before the response.
    this.limits.onAdmitted(({ accountId, keyId }, now) => {
      this.dayOf(accountId, keyId, now).admitted += 1;
    });
    this.host.httpAdapter.getInstance<FastifyInstance>().addHook('onResponse', (request, reply, done) => {
      if (reply.statusCode >= 400) this.countFailure(request, reply);
      done();
    });
    return super.onModuleInit();
  }

  /** Writes the counts, then deletes those that are older than the longest range of getUsage. */
  override async run(): Promise<void> {
    const { days } = this;
    if (days.size === 0) return;
    this.days = new Map();
    await this.usage.add([...days.values()]).catch((error: unknown) => {
      // Rather lose counts than bill a request twice.
      if (!(error instanceof OutcomeUnknownError)) days.forEach((day) => this.giveBack(day));
      throw error;
    });
    await this.usage.removeOld(dateOf(this.clock.now()), MAX_DAYS);
  }

  /** Counts a response of a request that the plan limits. A tool's request is a part of one that was, and has no decision. */
  private countFailure({ principal, rateLimit }: FastifyRequest, { statusCode }: FastifyReply): void {
    if (!principal || !rateLimit) return;
    const kind = statusCode === 429 ? 'rejected' : statusCode < 500 ? 'failed' : 'errors';
    this.dayOf(principal.accountId, principal.keyId, rateLimit.now)[kind] += 1;
  }

  private giveBack(given: KeyDay): void {
    const day = this.dayOf(given.accountId, given.keyId, given.usedAt);
    for (const name of COUNTS) day[name] += given[name];
  }

  private dayOf(accountId: bigint, keyId: string, now: number): Counts {
    const name = `${Math.floor(now / DAY_MS)} ${accountId} ${keyId}`;
    let day = this.days.get(name);
    if (!day) this.days.set(name, (day = { accountId, keyId, date: dateOf(now), usedAt: now, ...NONE }));
    day.usedAt = Math.max(day.usedAt, now);
    return day;
  }
}
