import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ErrorDto } from '../errors/error.dto';
import { handlersOf } from './handlers';
import { requireSchemaNames } from './schema-names';
import { requireValidators } from './validated-inputs';

/**
 * Ends the start at the first mistake of a module that would show only in its responses, or not at all.
 *
 * @throws DeclarationError
 */
export function checkModules(app: NestFastifyApplication): void {
  const handlers = handlersOf(app);
  requireValidators(handlers);
  requireSchemaNames(handlers, [ErrorDto]);
}
