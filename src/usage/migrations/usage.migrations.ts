import { SqlMigration } from '../../database/migrations/sql-migration';

export class Usage1795219200032 extends SqlMigration {
  override readonly upSql = `
    CREATE TABLE key_usage (
      account_id bigint NOT NULL,
      -- In UTC.
      date date NOT NULL,
      -- A text, because a team's authenticator may have other ids than ours.
      key_id text NOT NULL,
      admitted bigint NOT NULL,
      rejected bigint NOT NULL,
      failed bigint NOT NULL,
      errors bigint NOT NULL,
      PRIMARY KEY (account_id, date, key_id)
    );
    CREATE INDEX key_usage_date ON key_usage (date)`;
  override readonly downSql = 'DROP TABLE key_usage';
}
