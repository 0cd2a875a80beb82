import { Injectable } from '@nestjs/common';
import { Sql } from '../database/sql';
import { Semaphore } from '../database/semaphore';
import type { Outcome } from './receiver-client';
import type { Delivery } from './webhooks.dto';

/** The attempts of a webhook that are kept. */
export const MAX_ATTEMPTS = 50;

/** A request to the receiver of a webhook. */
export interface Attempt extends Outcome {
  readonly webhookId: bigint;
  readonly eventId: bigint;
  readonly type: string;
  readonly at: Date;
  readonly durationMs: number;
}

/** The columns in the order of the parameters. */
const COLUMNS = ['webhookId', 'eventId', 'type', 'at', 'durationMs', 'status', 'response', 'error'] as const;

/**
 * The webhooks are locked before their attempts, as by a removal of a webhook. A removed one gets no attempts. The snapshot
 * of the deletion is without the new rows.
 */
const RECORD = `
  WITH given AS MATERIALIZED (
    SELECT given.* FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::timestamptz[], $5::int[], $6::int[], $7::text[], $8::text[])
      WITH ORDINALITY AS given (webhook_id, event_id, type, at, duration_ms, status, response, error, number)
    JOIN webhooks ON webhooks.id = webhook_id FOR KEY SHARE OF webhooks
  ), inserted AS (
    INSERT INTO webhook_attempts (webhook_id, event_id, type, at, duration_ms, status, response, error)
    SELECT webhook_id, event_id, type, at, duration_ms, status, response, error FROM given ORDER BY number
  )
  DELETE FROM webhook_attempts AS old USING (
    SELECT webhook_id, count(*) AS count FROM given GROUP BY webhook_id
  ) AS added
  WHERE old.webhook_id = added.webhook_id AND old.id <= (
    SELECT id FROM webhook_attempts AS each WHERE each.webhook_id = added.webhook_id
    ORDER BY webhook_id DESC, id DESC OFFSET greatest(${MAX_ATTEMPTS} - added.count, 0) LIMIT 1
  )`;

/** The order of the index, not of the primary key only (decision 22). */
const LIST = `
  SELECT event_id AS "eventId", type, at, duration_ms AS "durationMs", status, response, error
  FROM webhook_attempts WHERE webhook_id = $1 ORDER BY webhook_id DESC, id DESC LIMIT ${MAX_ATTEMPTS}`;

/** The last attempts of each webhook. The newest ones are written together each tick; a crash or a failure loses them. */
@Injectable()
export class AttemptsRepository {
  private readonly unwritten: Attempt[] = [];
  private readonly writes = new Semaphore(1);

  constructor(private readonly sql: Sql) {}

  add(attempt: Attempt): void {
    this.unwritten.push(attempt);
  }

  /** Writes the new attempts, and removes the oldest ones beyond MAX_ATTEMPTS. */
  flush(): Promise<void> {
    return this.writes.run(async () => {
      const attempts = this.unwritten.splice(0);
      if (attempts.length === 0) return;
      const columns = COLUMNS.map((column) => attempts.map((attempt) => attempt[column] ?? null));
      await this.sql.rows(RECORD, columns);
    });
  }

  async list(webhookId: bigint): Promise<Delivery[]> {
    await this.flush().catch(() => undefined);
    const rows = await this.sql.rows<Omit<Delivery, 'at'> & { at: Date }>(LIST, [webhookId]);
    return rows.map(({ at, ...attempt }) => ({ ...attempt, at: at.toISOString() }));
  }
}
