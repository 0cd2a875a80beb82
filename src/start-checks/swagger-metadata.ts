import type { Type } from '@nestjs/common';

/** What the decorators of @nestjs/swagger have noted; it exports none of these names. */
const PREFIX = 'swagger/';
const PROPERTIES = `${PREFIX}apiModelPropertiesArray`;
const OPTIONS = `${PREFIX}apiModelProperties`;
const SCHEMA = `${PREFIX}apiSchema`;

/** True if a property stands in responses only. */
export function isReadOnly({ prototype }: Type<object>, property: string): boolean {
  const options: { readonly readOnly?: boolean } | undefined = Reflect.getMetadata(
    OPTIONS,
    prototype,
    property,
  );
  return options?.readOnly === true;
}

/** Names the properties of a class that stand in the document. */
export function propertiesOf({ prototype }: Type<object>): string[] {
  const marked: readonly string[] = Reflect.getMetadata(PROPERTIES, prototype) ?? [];
  return marked.map((name) => name.replace(/^:/, ''));
}

/** Names the schema of a class in the document. */
export function schemaNameOf(type: Type): string {
  const schemas: readonly { readonly name?: string }[] = Reflect.getOwnMetadata(SCHEMA, type) ?? [];
  return schemas.at(-1)?.name ?? type.name;
}

/** Returns everything that was noted on a class, a method or a property. */
export function notesOn(target: object, property?: string): unknown[] {
  const keys: readonly unknown[] =
    property === undefined ? Reflect.getMetadataKeys(target) : Reflect.getMetadataKeys(target, property);
  return keys
    .filter((key) => typeof key === 'string')
    .filter((key) => key.startsWith(PREFIX))
    .map((key): unknown =>
      property === undefined ? Reflect.getMetadata(key, target) : Reflect.getMetadata(key, target, property),
    );
}
