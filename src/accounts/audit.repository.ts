import { Injectable } from '@nestjs/common';
import { Sql } from '../platform/database/sql';
import type { Statement } from '../platform/database/statement';

/** An administrative change as `audit list` shows it. */
export interface ListedAuditEntry {
  readonly at: Date;
  readonly command: string;
  readonly account: string | null;
  readonly keyId: string | null;
  readonly details: string;
  readonly osUser: string;
}

const LIST: Statement = {
  name: 'audit_entries_list',
  text: `
    SELECT at, command, account, key_id AS "keyId", details, os_user AS "osUser" FROM audit_entries ORDER BY id`,
};

@Injectable()
export class AuditRepository {
  constructor(private readonly sql: Sql) {}

  /** Lists all entries, the oldest first. */
  list(): Promise<ListedAuditEntry[]> {
    return this.sql.rows<ListedAuditEntry>(LIST, []);
  }
}
