import { Injectable } from '@nestjs/common';
import { type Statement, Sql } from './sql';

const PING: Statement = { name: 'ping', text: 'SELECT 1' };

/** Asks the database whether it is there. Anyone may make us ask, so of many calls at once only one does. */
@Injectable()
export class DatabaseHealth {
  private asking: Promise<unknown> | undefined;

  constructor(private readonly sql: Sql) {}

  /** Rejects where the database does not answer. */
  async ping(): Promise<void> {
    this.asking ??= this.sql.rows(PING, []).finally(() => {
      this.asking = undefined;
    });
    await this.asking;
  }
}
