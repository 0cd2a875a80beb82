import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { DefinedError } from '../errors/define-errors';
import { platformErrors } from '../errors/platform.errors';
import type { Deprecation } from '../routes/route-facts';
import type { ResponseHeader } from './header-catalogue';
import type { RequiredScope } from './required-scopes';

/** An operation of the API, as `@Operation` declares it for its route and for the OpenAPI document. */
export interface OperationFacts {
  /** The `operationId`. It is unique; generated clients name a method after it. */
  readonly id: string;
  readonly summary: string;
  /** Markdown. The scope is added to it. */
  readonly description: string;
  /** The scope that the key needs, several of which it needs one, or `ANY_KEY`. */
  readonly scope: RequiredScope;
  /** The int64 parameters of the path: their names and descriptions. */
  readonly pathIds?: Readonly<Record<string, string>>;
  /** The successful response: its status, its DTO class (`[Class]` for a page, undefined for 204), its description. */
  readonly returns:
    | readonly [status: 200 | 201, body: Type | readonly [Type], description: string]
    | readonly [status: 204, body: undefined, description: string];
  /** The error codes of this operation, without those of every operation and every body. */
  readonly rejects?: readonly DefinedError[];
  /** True if the operation accepts an Idempotency-Key. Its handler works through `IdempotentWork`. */
  readonly idempotent?: true;
  /** True if the operation obeys `If-Match`. Its handler compares with `preconditionOf`. */
  readonly conditional?: true;
  /** True for a body that soon changes, such as a counter: it has no `ETag`, and clients must not store it. */
  readonly untagged?: true;
  readonly deprecation?: Deprecation;
  /** True for an operation beyond the specification. */
  readonly extension?: true;
}

/** An operation with the DTO classes of its handler's parameters. */
export interface RegisteredOperation extends OperationFacts {
  readonly inputs: readonly Type<object>[];
}

const OPERATIONS = new Map<string, RegisteredOperation>();

/** @param types the types of the handler's parameters; of the classes only those with validators are DTO classes */
export function registerOperation(facts: OperationFacts, types: readonly Type<object>[] = []): void {
  const storage = getMetadataStorage();
  const inputs = types.filter(
    (type) => storage.getTargetValidationMetadatas(type, '', false, false).length > 0,
  );
  OPERATIONS.set(facts.id, { ...facts, inputs });
}

/** Returns the operation with this id; undefined if its route has no `@Operation`. */
export function findOperation(id: string | undefined): RegisteredOperation | undefined {
  return id === undefined ? undefined : OPERATIONS.get(id);
}

/** Lists the operation's own error codes: those it names, and those of a page or an Idempotency-Key. */
export function ownCodes({ returns: [, body], ...facts }: OperationFacts): DefinedError[] {
  const { rejects = [], idempotent, conditional } = facts;
  return [
    ...rejects,
    ...(conditional ? [platformErrors.precondition_failed] : []),
    ...(isPage(body) ? [platformErrors.validation_failed, platformErrors.invalid_cursor] : []),
    ...(idempotent ? [platformErrors.idempotency_key_in_use, platformErrors.idempotency_key_reused] : []),
  ];
}

/** Lists the headers of the successful response, without those of every response. */
export function ownHeaders({
  returns: [status, body],
  idempotent,
  untagged,
}: OperationFacts): ResponseHeader[] {
  return [
    ...(status === 201 ? (['Location'] as const) : []),
    ...(isPage(body) ? (['Link'] as const) : []),
    ...(body && !untagged ? (['ETag'] as const) : []),
    ...(idempotent ? (['Idempotent-Replayed'] as const) : []),
  ];
}

export function isPage(body: Type | readonly [Type] | undefined): body is readonly [Type] {
  return Array.isArray(body);
}
