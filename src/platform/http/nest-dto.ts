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
export function givenNameOf(type: Type, field: string): string {
  return defaultMetadataStorage.findExposeMetadata(type, field)?.options.name ?? field;
}

/** Returns the class that `@Type(() => Class)` declares for a field; undefined if the class depends on the object. */
export function nestedTypeOf(type: Type, field: string): Type | undefined {
  const declared = typeWithoutObject(defaultMetadataStorage.findTypeMetadata(type, field));
  return isClass(declared) ? declared : undefined;
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
