import {
  type INestApplicationContext,
  Logger,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

/**
 * Work that each instance repeats until it stops. If a run fails, the next run tries again. The log has one warning of the
 * first failure, and one of the recovery. No run begins before the last one has ended.
 */
export abstract class PeriodicWork implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  protected isStopping = false;
  protected readonly logger = new Logger(this.constructor.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<unknown> | undefined;
  private isFailing = false;

  /**
   * @param purpose completes `… fails.` and `… works again.` in the log
   * @param isOfRequests true if requests leave the work: it continues until the last response, and then runs once more
   */
  protected constructor(
    private readonly purpose: string,
    private readonly intervalMs: number,
    private readonly isOfRequests = false,
  ) {}

  /** Does the work once. A long run ends early if `isStopping`. */
  abstract run(): Promise<void>;

  onModuleInit(): void | Promise<void> {
    this.timer = setInterval(() => void this.runOnce(), this.intervalMs).unref();
  }

  onModuleDestroy(): void {
    if (!this.isOfRequests) this.stop();
  }

  /** Waits for the run under way, after the last response. */
  async onApplicationShutdown(): Promise<void> {
    this.stop();
    await this.running;
    if (this.isOfRequests) await this.runOnce();
  }

  /** Runs unless a run is under way. @returns the error of a run that failed */
  protected runOnce(): Promise<unknown> {
    return (this.running ??= this.attempt().finally(() => (this.running = undefined)));
  }

  /** Runs immediately, after a run that is under way. @returns the error of a run that failed */
  async runNow(): Promise<unknown> {
    await this.running;
    return this.runOnce();
  }

  private stop(): void {
    clearInterval(this.timer);
    this.isStopping = true;
  }

  private async attempt(): Promise<unknown> {
    try {
      await this.run();
      if (this.isFailing) this.logger.warn(`${this.purpose} works again.`);
      this.isFailing = false;
      return undefined;
    } catch (error) {
      if (!this.isFailing)
        this.logger.warn(`${this.purpose} fails. The service retries. Cause: ${String(error)}`);
      this.isFailing = true;
      return error;
    }
  }
}

/** Does immediately the work that the modules of an application repeat. @throws the first error, after all of it */
export async function runDueWork(app: INestApplicationContext): Promise<void> {
  const errors: unknown[] = [];
  const modules = [...app.get(ModulesContainer).values()];
  for (const { instance } of modules.flatMap(({ providers }) => [...providers.values()])) {
    if (instance instanceof PeriodicWork) errors.push(await instance.runNow());
  }
  const failed = errors.find((error) => error !== undefined);
  if (failed !== undefined) throw failed;
}
