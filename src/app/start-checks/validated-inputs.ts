import { types } from 'node:util';
import type { Type } from '@nestjs/common';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { type RouteHandler, type Input, isArray } from './handlers';
import { findOperation, isPage } from '../../platform/api-docs/operations';
import { isClass, nestedTypesOf } from '../../platform/http/nest-dto';
import { isReadOnlyProperty, operationIdOf, propertiesOf } from './swagger-metadata';
import { UserError } from '../../platform/errors/user-error';

const FIX =
  'add a decorator of class-validator to each property, such as @IsString(), or @Allow() if every value is valid.';

/** Rejects inputs that `StrictDtoPipe` would pass on unchecked: a property that class-validator does not validate. */
export function requireValidators(handlers: readonly RouteHandler[]): void {
  for (const { place, inputs, method } of handlers) {
    const [, returned] = findOperation(operationIdOf(method))?.returns ?? [];
    const response = isPage(returned) ? returned[0] : returned;
    const problems = [
      ...inputs.map((input) => problemOf(input, `the ${input.kind} of ${place}`)),
      response && undecorated(response, `the response of ${place}`),
    ];
    const problem = problems.find((each) => each !== undefined);
    if (problem !== undefined) throw new UserError(problem);
  }
}

/** Finds a member without any decorator: an instance has it, and neither validation, document nor serializer would. */
function undecorated(type: Type<object>, place: string): string | undefined {
  const known = new Set([...propertiesOf(type), ...validatorsOf(type).map((each) => each.propertyName)]);
  const name = Object.keys(new type()).find((each) => !known.has(each));
  if (name === undefined) return undefined;
  return `${type.name}.${name}, in ${place}, has no decorator, so it would be dropped: add one, such as @Text().`;
}

function problemOf({ type, hasPipe }: Input, place: string): string | undefined {
  if (isArray(type)) {
    return hasPipe
      ? undefined
      : `Nothing validates the items of ${place}: use Nest's ParseArrayPipe for the array.`;
  }
  if (validatedFields(type).size === 0) {
    return hasPipe ? undefined : `${type.name}, ${place}, has no validators: ${FIX}`;
  }
  return undecorated(type, place) ?? problemOfClass(type, place, new Set());
}

/** @param visited classes that have been checked, because a class may contain itself */
function problemOfClass(type: Type<object>, place: string, visited: Set<Type>): string | undefined {
  if (visited.has(type)) return undefined;
  visited.add(type);
  const validated = validatedFields(type);
  const nested = nestedFields(type);
  const declared = validatorsOf(type).map(({ propertyName }) => propertyName);
  for (const name of new Set([...propertiesOf(type), ...declared])) {
    const inner = nestedTypesOf(type, name);
    const isObject = nested.has(name) || hasProperties(type, name);
    if (isObject && !(inner.length > 0 && nested.has(name))) {
      return `${type.name}.${name}, in ${place}, is an object that is not validated: add @ValidateNested() and @Type(() => …) with its class.`;
    }
    if (!validated.has(name) && !isReadOnlyProperty(type, name)) {
      return `${type.name}.${name}, in ${place}, is not validated: ${FIX}`;
    }
    if (isAsynchronous(type, name)) {
      return `${type.name}.${name}, in ${place}, has an asynchronous validator, which would not run: do that check in the service.`;
    }
    for (const each of nested.has(name) ? inner : []) {
      const problem = problemOfClass(each, place, visited);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

/** `@IsOptional()` and `@ValidateIf()` only switch the other validators on and off. */
function validatedFields(type: Type): Set<string> {
  const constraints = validatorsOf(type).filter(
    (each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION,
  );
  return new Set(constraints.map(({ propertyName }) => propertyName));
}

function nestedFields(type: Type): Set<string> {
  const nested = validatorsOf(type).filter((each) => each.type === ValidationTypes.NESTED_VALIDATION);
  return new Set(nested.map(({ propertyName }) => propertyName));
}

/** True if a validator of the property is marked `async`, or is an async function. */
function isAsynchronous(type: Type, property: string): boolean {
  return validatorsOf(type)
    .filter(({ propertyName }) => propertyName === property)
    .flatMap(({ constraintCls }) => getMetadataStorage().getTargetValidatorConstraints(constraintCls))
    .some(
      ({ async: isAsync, instance }) => isAsync || types.isAsyncFunction(Reflect.get(instance, 'validate')),
    );
}

function validatorsOf(type: Type) {
  return getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
}

/** True if the type of a property is a class with documented properties. */
function hasProperties({ prototype }: Type<object>, property: string): boolean {
  const type: unknown = Reflect.getMetadata('design:type', prototype, property);
  return isClass(type) && propertiesOf(type).length > 0;
}
