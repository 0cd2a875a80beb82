import { Global, Logger, Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../runtime/clock';
import { MINUTE_MS } from '../runtime/time';
import { IdempotencyRepository } from './idempotency.repository';
import { IdempotentWork } from './idempotent-work';

const BATCH_SIZE = 1_000;

/** For every module: a route needs `idempotent: true` in its `@Operation`, and `IdempotentWork`. */
@Global()
@Module({ providers: [IdempotencyRepository, IdempotentWork], exports: [IdempotentWork] })
export class IdempotencyModule implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(IdempotencyModule.name);
  private timer: NodeJS.Timeout | undefined;
  private isStopping = false;

  constructor(
    private readonly keys: IdempotencyRepository,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => void this.purge(), MINUTE_MS).unref();
  }

  /** Runs before the database module waits for the running batch and closes the pool. */
  onModuleDestroy(): void {
    clearInterval(this.timer);
    this.isStopping = true;
  }

  /** Deletes responses after 24 h, in short transactions. Several instances may do so concurrently. */
  async purge(): Promise<void> {
    const now = this.clock.now();
    try {
      while ((await this.keys.purge(now, BATCH_SIZE)) === BATCH_SIZE && !this.isStopping);
    } catch (error) {
      this.logger.warn(
        `Old idempotency keys cannot be deleted now: ${String(error)}. The service retries every minute.`,
      );
    }
  }
}
