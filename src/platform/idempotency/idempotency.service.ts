import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../runtime/clock';
import { DAY_MS } from '../runtime/time';
import { Sql } from '../database/sql';
import { platformErrors } from '../errors/platform.errors';
import { IdempotencyRepository, type StoredResponse } from './idempotency.repository';

const KEPT_MS = DAY_MS;
const BATCH_SIZE = 1_000;

/** A request with an Idempotency-Key. */
export interface KeyedRequest {
  readonly accountId: bigint;
  readonly method: string;
  readonly path: string;
  readonly key: string;
  /** As it was received. */
  readonly body: Buffer | undefined;
}

export interface ReplayableResponse extends StoredResponse {
  /** True if this is the stored response to an earlier request. */
  readonly isReplay: boolean;
}

/** Does the work of a request only once within 24 h: per account, method, path and key. */
@Injectable()
export class IdempotencyService {
  constructor(
    private readonly sql: Sql,
    private readonly keys: IdempotencyRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Does the work for the first request and stores its response in the same transaction. Later requests get that
   * response. Only a 2xx is stored, so that the key of a failed request can be used again.
   *
   * @throws ApiError `idempotency_key_in_use` while the first request is running; `idempotency_key_reused` if the body
   * differs from that of the first request
   */
  runOnce(
    request: KeyedRequest,
    work: (transaction: EntityManager) => Promise<StoredResponse>,
  ): Promise<ReplayableResponse> {
    const id = idOf(request);
    const bodyHash = hash(request.body ?? '');
    return this.sql.transaction(async (transaction) => {
      // FIND begins after the lock is granted, so it sees the commit of the lock's previous holder.
      const isGranted = await this.keys.tryLock(id, transaction);
      if (!isGranted) throw platformErrors.idempotency_key_in_use();
      const now = this.clock.now();
      const first = await this.keys.find(id, new Date(now - KEPT_MS), transaction);
      if (first && !first.bodyHash.equals(bodyHash)) throw platformErrors.idempotency_key_reused();
      if (first) return { ...first, isReplay: true };
      const response = await work(transaction);
      if (isSuccess(response))
        await this.keys.store(id, new Date(now), { ...response, bodyHash }, transaction);
      return { ...response, isReplay: false };
    });
  }

  /**
   * Deletes responses older than 24 h in small batches, each in a short transaction of its own.
   *
   * @param stop aborts after the running batch
   */
  async purge(stop: Pick<AbortSignal, 'aborted'> = { aborted: false }): Promise<void> {
    const until = new Date(this.clock.now() - KEPT_MS);
    while ((await this.keys.purge(until, BATCH_SIZE)) === BATCH_SIZE && !stop.aborted);
  }
}

function isSuccess({ status }: StoredResponse): boolean {
  return status >= 200 && status < 300;
}

/** Unambiguous, because only the last part could contain a line break. */
function idOf({ accountId, method, path, key }: KeyedRequest): Buffer {
  return hash([accountId, method, path, key].join('\n'));
}

function hash(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}
