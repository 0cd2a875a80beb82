import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ERROR_BODIES } from '../../platform/errors/problem.dto';
import type { RouteHandler } from './handlers';
import { requireSchemaNames } from './schema-names';
import { rejectThrottlerModule } from './throttler-module';
import { requireValidators } from './validated-inputs';

/**
 * Rejects mistakes of modules that would otherwise show only in responses, or never.
 *
 * @throws UserError for the first mistake
 */
export function checkModules(app: NestFastifyApplication, handlers: readonly RouteHandler[]): void {
  rejectThrottlerModule(app);
  requireValidators(handlers);
  requireSchemaNames(handlers, ERROR_BODIES);
}
