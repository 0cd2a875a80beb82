import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import { findOperation } from '../../platform/api-docs/operation.decorator';
import { ANY_KEY } from '../../platform/routes/route-facts';
import type { DefinedError } from '../../platform/errors/define-errors';
import { CODE } from '../../platform/errors/error.schemas';
import { platformCodes, platformErrors } from '../../platform/errors/platform.errors';
import { UserError } from '../../platform/errors/user-error';
import type { EventTypes } from '../../platform/extension/extension';

/** The error codes in the order of the document: by status, the modules' codes before the platform's. */
export type Codes = readonly DefinedError[];

const FORM = new RegExp(`(?=^.{1,${CODE.maxLength}}$)${CODE.pattern}`);

/** The kinds of operations that `on` may name. */
const KINDS = {
  'every operation': () => true,
  'every body': ({ requestBody }: OperationObject) => requestBody !== undefined,
  'every scope': ({ operationId }: OperationObject) => findOperation(operationId)?.scope !== ANY_KEY,
  'every counted operation': ({ operationId }: OperationObject) => !findOperation(operationId)?.uncounted,
};

export function operationsOf(paths: OpenAPIObject['paths']): OperationObject[] {
  return Object.values(paths).flatMap(({ get, post, put, patch, delete: remove }) =>
    [get, post, put, patch, remove].filter((operation) => operation !== undefined),
  );
}

/**
 * Lists the codes of the platform, and those that the operations of a document name in `rejects`.
 *
 * @param added the codes of extensions that every operation can return
 * @throws UserError if a code or its status is invalid, or a code is on an unknown operation or has two definitions
 */
export function codesOf(paths: OpenAPIObject['paths'], added: Codes = []): Codes {
  const ids = operationsOf(paths).map(({ operationId }) => operationId ?? '');
  const named = ids.flatMap((id) => findOperation(id)?.rejects ?? []);
  const modules = named.filter((code) => !platformCodes.includes(code));
  const everywhere = added.map((code) => ({ on: 'every operation' as const, ...code }));
  const codes = new Map<string, DefinedError>();
  for (const each of [...modules, ...everywhere, ...platformCodes]) {
    const mistake = mistakeIn(each, codes.get(each.code) ?? each, ids);
    codes.set(each.code, each);
    if (!mistake) continue;
    const place = ids.find((id) => findOperation(id)?.rejects.includes(each));
    throw new UserError(`The error code ${each.code}${place ? ` of ${place}` : ''} ${mistake}.`);
  }
  return [...codes.values()].sort((one, other) => one.status - other.status);
}

/**
 * Checks what no library rejects in the operations of a document and the classes of its events.
 *
 * @throws UserError if two operations or two classes have one name, or the work of an Idempotency-Key may run twice
 */
export function checkOperations(paths: OpenAPIObject['paths'], schemas: object, events: EventTypes): void {
  const owners = new Map<string, object>();
  const claim = (name: string, owner: object): void => {
    const isOther = (owners.get(name) ?? owner) !== owner;
    if (isOther) throw new UserError(`The ${name} has two definitions: rename one of them.`);
    owners.set(name, owner);
  };
  for (const { data } of Object.values(events)) claim(`class ${data.name}`, data);
  for (const operation of operationsOf(paths)) {
    claim(`operation ${operation.operationId}`, operation);
    const facts = findOperation(operation.operationId);
    const { types = [], idempotent, rejects = [], returns = [], orList = [] } = facts ?? {};
    for (const each of [returns[1] ?? [], orList, types].flat(2))
      if (each.name in schemas) claim(`class ${each.name}`, each);
    if (idempotent && !rejects.includes(platformErrors.idempotency_key_in_use))
      throw new UserError(
        `${facts?.id} has \`idempotent: true\` without @Idempotent(): add it to its handler.`,
      );
  }
}

/** @param other a definition of the same code @param ids of all operations */
function mistakeIn(
  { code, status, when, on = [] }: DefinedError,
  other: DefinedError,
  ids: readonly string[],
) {
  const known: readonly string[] = typeof on === 'string' ? Object.keys(KINDS) : ids;
  const unknown = [on].flat().find((each) => !known.includes(each));
  if (unknown !== undefined) return `is on ${unknown}, which is unknown: use one of ${known.join(', ')}`;
  if (!FORM.test(code)) return 'is invalid: use words of a to z joined by "_", at most 64 characters';
  if (!/^[45]\d\d$/.test(String(status))) return `has the status ${status}: use one from 400 to 599`;
  if (status === other.status && when === other.when) return undefined;
  return `has two definitions, if ${other.when} (${other.status}) and if ${when} (${status}): rename one of them`;
}

/** Lists the codes that an operation can return. @param all the codes of the document */
export function rejectedCodes(operation: OperationObject, all: Codes): Codes {
  const own = new Set(findOperation(operation.operationId)?.rejects.map(({ code }) => code));
  const includes = ({ on = [] }: DefinedError): boolean =>
    typeof on === 'string' ? KINDS[on](operation) : on.includes(operation.operationId ?? '');
  return all.filter((code) => own.has(code.code) || includes(code));
}
