import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { MINUTE_MS } from '../runtime/time';
import { IdempotencyService } from './idempotency.service';

const INTERVAL_MS = MINUTE_MS;

/** Deletes stored responses after 24 h, in the background. Several instances may do so concurrently. */
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

  /** Runs before the database module waits for the running batch and closes the pool. */
  onModuleDestroy(): void {
    clearInterval(this.timer);
    this.stop.abort();
  }

  private run(): void {
    this.running ??= this.idempotency
      .purge(this.stop.signal)
      .catch((error: unknown) => {
        this.logger.warn(
          `Old idempotency keys cannot be deleted now: ${String(error)}. The service retries every minute.`,
        );
      })
      .finally(() => {
        this.running = undefined;
      });
  }
}
