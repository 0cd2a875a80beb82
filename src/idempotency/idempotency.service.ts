import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../clock';
import { Sql } from '../database/sql';
import { idempotencyKeyInUse, idempotencyKeyReused } from './idempotency.errors';
import { IdempotencyRepository, type StoredAnswer } from './idempotency.repository';

const KEPT_MS = 86_400_000;
const BATCH_SIZE = 1_000;

/** A request that carries a key. */
export interface KeyedRequest {
  readonly accountId: bigint;
  readonly method: string;
  readonly path: string;
  readonly key: string;
  /** As it was sent. */
  readonly body: Buffer | undefined;
}

export interface Answer extends StoredAnswer {
  /** True where the answer is that of an earlier request. */
  readonly isReplay: boolean;
}

/** Does the work of a request once, however often it is sent: per account, method, path and key, for 24 h. */
@Injectable()
export class IdempotencyService {
  constructor(
    private readonly sql: Sql,
    private readonly keys: IdempotencyRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * The first request does the work, and its answer is stored in the transaction of the work; later ones get that
   * answer. A refusal or failure of the work stores nothing, so that its key can be used again.
   *
   * @throws ApiError `idempotency_key_in_use` while the first request is still running, `idempotency_key_reused` where
   * its body was another one
   */
  answer(
    request: KeyedRequest,
    work: (transaction: EntityManager) => Promise<StoredAnswer>,
  ): Promise<Answer> {
    const id = idOf(request);
    const bodyHash = hash(request.body ?? '');
    return this.sql.transaction(async (transaction) => {
      // The answer is looked for by a statement that begins under the lock: it sees whoever held it before.
      const isGranted = await this.keys.tryLock(id, transaction);
      if (!isGranted) throw idempotencyKeyInUse();
      const now = this.clock.now();
      const first = await this.keys.find(id, new Date(now - KEPT_MS), transaction);
      if (first && !first.bodyHash.equals(bodyHash)) throw idempotencyKeyReused();
      if (first) return { ...first, isReplay: true };
      const answer = await work(transaction);
      if (isSuccess(answer)) await this.keys.store(id, new Date(now), { ...answer, bodyHash }, transaction);
      return { ...answer, isReplay: false };
    });
  }

  /**
   * Deletes what is older than 24 h, in small batches: each is a short transaction of its own.
   *
   * @param stop ends it after the batch under way
   */
  async purge(stop: Pick<AbortSignal, 'aborted'> = { aborted: false }): Promise<void> {
    const until = new Date(this.clock.now() - KEPT_MS);
    while ((await this.keys.purge(until, BATCH_SIZE)) === BATCH_SIZE && !stop.aborted);
  }
}

function isSuccess({ status }: StoredAnswer): boolean {
  return status >= 200 && status < 300;
}

/** No part but the last can hold a line break. */
function idOf({ accountId, method, path, key }: KeyedRequest): Buffer {
  return hash([accountId, method, path, key].join('\n'));
}

function hash(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}
