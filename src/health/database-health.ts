import { Injectable } from '@nestjs/common';
import { type Statement, Sql } from '../database/sql';
import { serviceUnavailable } from '../errors/http.errors';

const PING: Statement = { name: 'ping', text: 'SELECT 1' };

/** Asks the database whether it is there. Anyone may call `/readyz`, so of many calls at once only one asks. */
@Injectable()
export class DatabaseHealth {
  private asking: Promise<unknown> | undefined;

  constructor(private readonly sql: Sql) {}

  /** @throws ApiError `service_unavailable` */
  async check(): Promise<void> {
    this.asking ??= this.sql.rows(PING, []).finally(() => {
      this.asking = undefined;
    });
    try {
      await this.asking;
    } catch {
      throw serviceUnavailable();
    }
  }
}
