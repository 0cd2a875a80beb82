import { Injectable } from '@nestjs/common';
import { type Statement, Sql } from './sql';

/** Locks no row, and yet is refused where nothing may be written: by a standby, or a database set to read-only. */
const PING: Statement = { name: 'ping', text: 'SELECT id FROM migrations LIMIT 0 FOR UPDATE' };

/** Asks the database whether it is there and can be written. Anyone may make us ask, so of many calls at once only one does. */
@Injectable()
export class DatabaseHealth {
  private asking: Promise<unknown> | undefined;

  constructor(private readonly sql: Sql) {}

  /** Rejects where the database does not answer, or could not take a change. */
  async ping(): Promise<void> {
    this.asking ??= this.sql.rows(PING, []).finally(() => {
      this.asking = undefined;
    });
    await this.asking;
  }
}
