import { Injectable, Logger } from '@nestjs/common';
import { Clock, SystemClock } from '../runtime/clock';
import { MINUTE_MS, SECOND_MS } from '../runtime/time';
import { Sql } from './sql';

const NOW = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time';

/** The time for work that deletes or cancels by age: a clock that jumps ahead must not end what is young. */
@Injectable()
export class AgreedTime {
  private readonly logger = new Logger(AgreedTime.name);
  private isApart = false;

  constructor(
    private readonly sql: Sql,
    private readonly clock: Clock,
  ) {}

  /** False for a stand-in, whose time the database does not have. */
  get hasCounterpart(): boolean {
    return this.clock instanceof SystemClock;
  }

  /** Returns the earlier of the times of this machine and of the database. Warns once while they differ by a minute. */
  async now(): Promise<number> {
    if (!this.hasCounterpart) return this.clock.now();
    const [row] = await this.sql.rows<{ time: number }>(NOW, []);
    const own = this.clock.now();
    const aheadMs = own - (row?.time ?? own);
    const isApart = Math.abs(aheadMs) > MINUTE_MS;
    if (isApart && !this.isApart)
      this.logger.warn(
        `The clock of this machine is ${Math.abs(Math.round(aheadMs / SECOND_MS))} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database. Correct it (NTP): until then keys expire and limits end at wrong times, and receivers reject the signatures of webhooks.`,
      );
    this.isApart = isApart;
    return own - Math.max(aheadMs, 0);
  }
}
