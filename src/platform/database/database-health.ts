import { Injectable } from '@nestjs/common';
import { platformErrors } from '../errors/platform.errors';
import { CoalescedRead } from './coalesced-read';
import { Sql } from './sql';

/** Locks no row, but fails if the database is read-only, such as on a standby. */
const PING = 'SELECT id FROM migrations LIMIT 0 FOR UPDATE';

/** Checks that the database is available and writable. Concurrent calls share queries, because any client may call. */
@Injectable()
export class DatabaseHealth {
  private readonly pings = new CoalescedRead<unknown>();

  constructor(private readonly sql: Sql) {}

  /** @throws ApiError 503, with its cause, if the database does not respond or is read-only */
  async ping(): Promise<void> {
    try {
      await this.pings.read('ping', () => this.sql.rows(PING, []));
    } catch (cause) {
      // Every error of the database is 503; the log has its cause.
      throw Object.assign(platformErrors.service_unavailable({}), { cause });
    }
  }
}
