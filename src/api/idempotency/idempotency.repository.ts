import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql } from '../../database/sql';
import { Clock } from '../../time/clock';
import { PeriodicWork } from '../../time/periodic-work';
import { MINUTE_MS } from '../../time/time';

const PURGED_AT_ONCE = 1_000;

/** The response to the first request with a key. */
interface StoredResponse {
  readonly status: number;
  readonly location: string | null;
  /** As it was sent, byte for byte. */
  readonly body: string;
  /** SHA-256 of the body of the request. */
  readonly bodyHash: Buffer;
}

/** The end of the transaction releases the lock, even after a crash or behind a transaction pooler. */
const TRY_LOCK = 'SELECT pg_try_advisory_xact_lock($1) AS "isLocked"';

const FIND = `
  SELECT body_hash AS "bodyHash", status, location, answer AS body FROM idempotency_keys WHERE id = $1`;

/** With the time of the database: an instance whose clock is late must not make the row old. */
const STORE = `
  INSERT INTO idempotency_keys (id, created_at, body_hash, status, location, answer)
  VALUES ($1, now(), $2, $3, $4, $5)`;

/** By the earlier of two clocks. */
const PURGE = `
  DELETE FROM idempotency_keys WHERE id = ANY (ARRAY(
    SELECT id FROM idempotency_keys WHERE created_at <= least($1, now()) - interval '24 hours' ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
  )) RETURNING true`;

/** The stored responses to requests with an Idempotency-Key. It deletes them after 24 h. */
@Injectable()
export class IdempotencyRepository extends PeriodicWork {
  constructor(
    private readonly sql: Sql,
    private readonly clock: Clock,
  ) {
    super('The deletion of old idempotency keys', MINUTE_MS);
  }

  /**
   * Locks a key until the transaction ends, and finds the response to it, of any age: a clock that jumps ahead must not
   * repeat the work. The lock's number is the first 8 bytes of the id: two keys collide with negligible probability, and
   * the later request then gets 409 and retries.
   *
   * @returns no response and `isLocked: false` if the first request is still running
   */
  async lock(id: Buffer, transaction: EntityManager) {
    const [row] = await this.sql.rows<{ isLocked: boolean }>(TRY_LOCK, [id.readBigInt64BE()], transaction);
    // It begins after the lock is granted, so it sees the commit of the lock's previous holder.
    const [first] = await this.sql.rows<StoredResponse>(FIND, [id], transaction);
    return { first, isLocked: row?.isLocked === true };
  }

  async store(id: Buffer, response: StoredResponse, transaction: EntityManager): Promise<void> {
    const { bodyHash, status, location, body } = response;
    await this.sql.rows(STORE, [id, bodyHash, status, location, body], transaction);
  }

  /** Deletes old responses in short transactions. Several instances may do so concurrently. */
  async run(): Promise<void> {
    const batch = [new Date(this.clock.now()), PURGED_AT_ONCE];
    while ((await this.sql.rows(PURGE, batch)).length === PURGED_AT_ONCE && !this.isStopping);
  }
}
