import type { OpenAPIObject } from '@nestjs/swagger';
import { findOperation, ownCodes } from '../api-docs/operations';
import type { DefinedError } from '../errors/define-errors';
import { platformCodes } from '../errors/platform.errors';
import { operationsOf } from './operations-of';

/** The error codes in the order of the document: by status, those of modules before those of the platform. */
export type Codes = readonly DefinedError[];

/**
 * Lists the codes of the platform, and those that the operations of a document name in `rejects`.
 *
 * @param added the codes of extensions that every operation can return
 */
export function codesOf(paths: OpenAPIObject['paths'], added: Codes = []): Codes {
  const own = operationsOf(paths).flatMap(({ operationId }) => {
    const facts = findOperation(operationId);
    return facts ? ownCodes(facts) : [];
  });
  const everywhere = added.map((code) => ({ ...code, on: 'every operation' as const }));
  const modules = own.filter((code) => !platformCodes.includes(code));
  return [...new Set([...modules, ...everywhere, ...platformCodes])].sort(
    (one, other) => one.status - other.status,
  );
}
