import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type Statement, Sql } from '../database/sql';

/** An answer as it was sent: the bytes of its body, and what of its head is part of the answer. */
export interface StoredAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly body: string;
}

/** The first request of a key, with its answer. */
export interface Outcome extends StoredAnswer {
  /** SHA-256 of the body of the request. */
  readonly bodyHash: Buffer;
}

const TRY_LOCK: Statement = {
  name: 'idempotency_try_lock',
  // Given back by the end of the transaction, so that a crash, or a pooler between us, keeps none.
  text: 'SELECT pg_try_advisory_xact_lock($1) AS "isGranted"',
};

const FIND: Statement = {
  name: 'idempotency_find',
  text: `
    SELECT body_hash AS "bodyHash", status, location, answer AS body FROM idempotency_keys
    WHERE id = $1 AND created_at > $2`,
};

/** A row that is still there has outlived its time, or FIND would have found it. */
const STORE: Statement = {
  name: 'idempotency_store',
  text: `
    INSERT INTO idempotency_keys (id, created_at, body_hash, status, location, answer)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (id) DO UPDATE SET
      created_at = excluded.created_at, body_hash = excluded.body_hash,
      status = excluded.status, location = excluded.location, answer = excluded.answer`,
};

const PURGE: Statement = {
  name: 'idempotency_purge',
  text: `
    DELETE FROM idempotency_keys WHERE id IN (
      SELECT id FROM idempotency_keys WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING true`,
};

/** What was answered to requests with an Idempotency-Key. */
@Injectable()
export class IdempotencyRepository {
  constructor(private readonly sql: Sql) {}

  /**
   * Keeps everyone else from the same key until the transaction ends; false where somebody else does so now.
   * The lock's number is the beginning of the id, so two keys share one as good as never, and then one of them is told to come back.
   */
  async tryLock(id: Buffer, transaction: EntityManager): Promise<boolean> {
    const [row] = await this.sql.rows<{ isGranted: boolean }>(TRY_LOCK, [id.readBigInt64BE()], transaction);
    return row?.isGranted ?? false;
  }

  /** What was answered since a time. */
  async find(id: Buffer, since: Date, transaction: EntityManager): Promise<Outcome | undefined> {
    const [row] = await this.sql.rows<Outcome>(FIND, [id, since], transaction);
    return row;
  }

  async store(id: Buffer, at: Date, outcome: Outcome, transaction: EntityManager): Promise<void> {
    const { bodyHash, status, location, body } = outcome;
    await this.sql.rows(STORE, [id, at, bodyHash, status, location, body], transaction);
  }

  /** Deletes answers as old as a time, `count` at most. @returns how many */
  async purge(until: Date, count: number): Promise<number> {
    return (await this.sql.rows(PURGE, [until, count])).length;
  }
}
