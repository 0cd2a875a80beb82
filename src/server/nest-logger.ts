import type { LoggerService } from '@nestjs/common';
import type { Logger } from '../platform/logging/logger';

/** Passes Nest's own messages to our logger; messages of a normal start have the level debug. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }

  error(message: unknown, ...details: unknown[]): void {
    this.logger.error({ err: message instanceof Error ? message : undefined, details }, String(message));
  }

  warn(message: unknown, context?: unknown): void {
    this.logger.warn({ context }, String(message));
  }

  debug(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }

  verbose(message: unknown, context?: unknown): void {
    this.logger.trace({ context }, String(message));
  }

  fatal(message: unknown, context?: unknown): void {
    this.logger.fatal({ context }, String(message));
  }
}
