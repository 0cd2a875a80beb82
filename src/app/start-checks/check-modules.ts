import { ERROR_BODIES } from '../../platform/errors/error.dto';
import type { RouteHandler } from './handlers';
import { requireSchemaNames } from './schema-names';
import { requireValidators } from './validated-inputs';

/**
 * Rejects mistakes of modules that would otherwise show only in responses, or never.
 *
 * @throws UserError for the first mistake
 */
export function checkModules(handlers: readonly RouteHandler[]): void {
  requireValidators(handlers);
  requireSchemaNames(handlers, ERROR_BODIES);
}
