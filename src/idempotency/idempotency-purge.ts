import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { IdempotencyService } from './idempotency.service';

const INTERVAL_MS = 60_000;

/** Deletes stored answers in the background when their 24 h are over. Several instances may do so at once. */
@Injectable()
export class IdempotencyPurge implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(IdempotencyPurge.name);
  private timer: NodeJS.Timeout | undefined;
  private readonly stop = new AbortController();
  private running: Promise<void> | undefined;

  constructor(private readonly idempotency: IdempotencyService) {}

  onModuleInit(): void {
    this.timer = setInterval(() => this.run(), INTERVAL_MS).unref();
  }

  /** Runs before the database module waits for the batch under way and closes the pool. */
  onModuleDestroy(): void {
    clearInterval(this.timer);
    this.stop.abort();
  }

  private run(): void {
    this.running ??= this.idempotency
      .purge(this.stop.signal)
      .catch((error: unknown) => {
        this.logger.warn(`Old idempotency keys cannot be deleted for now: ${String(error)}`);
      })
      .finally(() => {
        this.running = undefined;
      });
  }
}
