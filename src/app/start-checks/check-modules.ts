import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ErrorDto } from '../../platform/errors/error.dto';
import { handlersOf } from './handlers';
import { requireSchemaNames } from './schema-names';
import { requireValidators } from './validated-inputs';

/**
 * Rejects mistakes of modules that would otherwise show only in responses, or never.
 *
 * @throws UserError for the first mistake
 */
export function checkModules(app: NestFastifyApplication): void {
  const handlers = handlersOf(app);
  requireValidators(handlers);
  requireSchemaNames(handlers, [ErrorDto]);
}
