import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import { findOperation } from '../../platform/api-docs/operation.decorator';
import { ANY_KEY } from '../../platform/api-docs/required-scopes';
import { UNCOUNTED } from '../../platform/routes/route-facts';
import type { DefinedError } from '../../platform/errors/define-errors';
import { platformCodes } from '../../platform/errors/platform.errors';
import { UserError } from '../../platform/errors/user-error';

/** The error codes in the order of the document: by status, those of modules before those of the platform. */
export type Codes = readonly DefinedError[];

/** Lists the operations of a document. */
export function operationsOf(paths: OpenAPIObject['paths']): OperationObject[] {
  return Object.values(paths).flatMap(({ get, post, put, patch, delete: remove }) =>
    [get, post, put, patch, remove].filter((operation) => operation !== undefined),
  );
}

/**
 * Lists the codes of the platform, and those that the operations of a document name in `rejects`.
 *
 * @param added the codes of extensions that every operation can return
 * @throws UserError if a status is not one of an error
 */
export function codesOf(paths: OpenAPIObject['paths'], added: Codes = []): Codes {
  const named = operationsOf(paths).flatMap(({ operationId }) => findOperation(operationId)?.rejects ?? []);
  const modules = named.filter((code) => !platformCodes.includes(code));
  const everywhere = added.map((code) => ({ on: 'every operation' as const, ...code }));
  const all = [...modules, ...everywhere, ...platformCodes];
  const codes = [...new Map(all.map((code) => [code.code, code])).values()];
  const odd = codes.find(({ status }) => !Number.isInteger(status) || status < 400 || status > 599);
  if (odd) {
    throw new UserError(`The error code ${odd.code} has the status ${odd.status}: use one from 400 to 599.`);
  }
  return codes.sort((one, other) => one.status - other.status);
}

/** Lists the codes that an operation can return. @param all the codes of the document */
export function rejectedCodes(operation: OperationObject, all: Codes): Codes {
  const facts = findOperation(operation.operationId);
  const own = new Set(facts?.rejects.map(({ code }) => code));
  const isOn = {
    'every operation': true,
    'every body': operation.requestBody !== undefined,
    'every scope': facts?.scope !== ANY_KEY,
    'every counted operation': !(UNCOUNTED in operation),
  };
  const includes = ({ on }: DefinedError): boolean =>
    typeof on === 'string' ? isOn[on] : on?.includes(operation.operationId ?? '') === true;
  return all.filter((code) => own.has(code.code) || includes(code));
}
