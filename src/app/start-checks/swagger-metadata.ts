import type { Type } from '@nestjs/common';

/** The metadata keys of @nestjs/swagger, which does not export them. */
const PREFIX = 'swagger/';
const PROPERTIES = `${PREFIX}apiModelPropertiesArray`;
const OPTIONS = `${PREFIX}apiModelProperties`;
const SCHEMA = `${PREFIX}apiSchema`;
const OPERATION = `${PREFIX}apiOperation`;

/** True if a property occurs only in responses. */
export function isReadOnlyProperty({ prototype }: Type<object>, property: string): boolean {
  const options: { readonly readOnly?: boolean } | undefined = Reflect.getMetadata(
    OPTIONS,
    prototype,
    property,
  );
  return options?.readOnly === true;
}

/** Lists the documented properties of a class. */
export function propertiesOf({ prototype }: Type<object>): string[] {
  const marked: readonly string[] = Reflect.getMetadata(PROPERTIES, prototype) ?? [];
  return marked.map((name) => name.replace(/^:/, ''));
}

/** Returns the `operationId` of a handler. */
export function operationIdOf(method: object): string | undefined {
  const operation: { readonly operationId?: string } | undefined = Reflect.getMetadata(OPERATION, method);
  return operation?.operationId;
}

/** Returns the schema name of a class in the document. */
export function schemaNameOf(type: Type): string {
  const schemas: readonly { readonly name?: string }[] = Reflect.getOwnMetadata(SCHEMA, type) ?? [];
  return schemas.at(-1)?.name ?? type.name;
}

/** Returns all metadata of @nestjs/swagger on a class, a method or a property. */
export function metadataOf(target: object, property?: string): unknown[] {
  const keys: readonly unknown[] =
    property === undefined ? Reflect.getMetadataKeys(target) : Reflect.getMetadataKeys(target, property);
  return keys
    .filter((key) => typeof key === 'string')
    .filter((key) => key.startsWith(PREFIX))
    .map((key): unknown =>
      property === undefined ? Reflect.getMetadata(key, target) : Reflect.getMetadata(key, target, property),
    );
}
