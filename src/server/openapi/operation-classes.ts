import type { OpenAPIObject } from '@nestjs/swagger';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { findOperation, isPage, type RegisteredOperation } from '../../platform/api-docs/operations';
import { UserError } from '../../platform/errors/user-error';
import { operationsOf } from './operations-of';

type Type = RegisteredOperation['inputs'][number];

/**
 * Rejects mistakes with the DTO classes of operations: two response classes of one name, of which one schema would
 * replace the other, and a member without a decorator, which would be dropped or not be validated.
 *
 * @throws UserError
 */
export function checkOperationClasses({ paths, components }: OpenAPIObject): void {
  const operations = operationsOf(paths).flatMap(({ operationId }) => findOperation(operationId) ?? []);
  requireOwnNames(operations);
  for (const { id, inputs, returns } of operations) {
    for (const type of inputs) {
      requireKnown(type, id, [...validatedIn(type), ...documentedIn(type, components, true)]);
    }
    for (const type of responseOf(returns)) requireKnown(type, id, documentedIn(type, components));
  }
}

function requireOwnNames(operations: readonly RegisteredOperation[]): void {
  const known = new Map<string, { readonly type: Type; readonly id: string }>();
  for (const { id, returns } of operations) {
    for (const type of responseOf(returns)) {
      const first = known.get(type.name) ?? { type, id };
      if (first.type !== type) {
        throw new UserError(
          `Two response classes have the name ${type.name}, one in ${first.id} and one in ${id}: rename one of them.`,
        );
      }
      known.set(type.name, first);
    }
  }
}

function responseOf([, body]: RegisteredOperation['returns']): readonly Type[] {
  if (isPage(body)) return body;
  return body ? [body] : [];
}

/** An instance has every member that the class declares. */
function requireKnown(type: Type, id: string, known: readonly string[]): void {
  const name = Object.keys(new type()).find((each) => !known.includes(each));
  if (name === undefined) return;
  throw new UserError(
    `${type.name}.${name}, in ${id}, has no decorator for its value: add one, such as @Text(), or @Allow() if every value is valid.`,
  );
}

/** `@IsOptional()` and `@ValidateIf()` only switch the other validators on and off. */
function validatedIn(type: Type): string[] {
  return getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .filter((each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION)
    .map(({ propertyName }) => propertyName);
}

/** @param isReadOnly true for those that only responses have */
function documentedIn({ name }: Type, components: OpenAPIObject['components'], isReadOnly?: true): string[] {
  const schema = components?.schemas?.[name] ?? {};
  if (!('properties' in schema)) return [];
  return Object.entries(schema.properties ?? {})
    .filter(([, property]) => !isReadOnly || ('readOnly' in property && property.readOnly))
    .map(([member]) => member);
}
