import type { Type } from '@nestjs/common';
import { plainToInstance, TransformationType, type TypeMetadata } from 'class-transformer';
// The package has no other access to what its decorators declare.
import { defaultMetadataStorage } from 'class-transformer/cjs/storage';

/** True if a decorator of class-transformer, such as `@Type` or `@Transform`, is on one of the fields. */
export function isTransformed(type: Type, fields: readonly string[]): boolean {
  return fields.some((field) =>
    [
      defaultMetadataStorage.findTypeMetadata(type, field),
      defaultMetadataStorage.findExposeMetadata(type, field),
      defaultMetadataStorage.findExcludeMetadata(type, field),
      ...defaultMetadataStorage.findTransformMetadatas(type, field, TransformationType.PLAIN_TO_CLASS),
    ].some((metadata) => metadata !== undefined),
  );
}

/** Returns the name of a field in the input: that of `@Expose({ name })`, or its own. */
export function givenNameOf(type: Type['constructor'], field: string): string {
  return defaultMetadataStorage.findExposeMetadata(type, field)?.options.name ?? field;
}

/**
 * Returns the class of an object in a field, which `@Type(() => Class)` or its discriminator declares.
 *
 * @returns undefined if the function of `@Type` reads the object
 */
export function nestedTypeOf(type: Type, field: string, value?: object): Type | undefined {
  const metadata = defaultMetadataStorage.findTypeMetadata(type, field);
  const { property = '', subTypes = [] } = metadata?.options.discriminator ?? {};
  const named = value && subTypes.find(({ name }) => name === Reflect.get(value, property));
  const declared: unknown = named?.value ?? typeWithoutObject(metadata);
  return isClass(declared) ? declared : undefined;
}

/** Lists the classes that the objects in a field can have. */
export function nestedTypesOf(type: Type, field: string): Type[] {
  const { subTypes = [] } = defaultMetadataStorage.findTypeMetadata(type, field)?.options.discriminator ?? {};
  return [nestedTypeOf(type, field), ...subTypes.map(({ value }): unknown => value)].filter(isClass);
}

function typeWithoutObject(metadata: TypeMetadata | undefined): unknown {
  try {
    return metadata?.typeFunction?.();
  } catch {
    return undefined;
  }
}

/** True for a class of a module, false for a global class such as String, Date or Buffer. */
export function isClass(value: unknown): value is Type<object> {
  return (
    typeof value === 'function' &&
    value.prototype !== undefined &&
    Reflect.get(globalThis, value.name) !== value
  );
}

/** Creates the object of a DTO class as Nest's ValidationPipe does. Fields that `value` lacks keep their default. */
export function toInstance(type: Type<object>, value: object): object {
  return plainToInstance(type, value);
}
