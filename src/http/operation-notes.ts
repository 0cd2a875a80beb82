import { applyDecorators } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';

/**
 * Notes on an operation for whoever completes the OpenAPI document; none of them stays in it. Each is an extension
 * of its own name, because several decorators of one operation add to the same list.
 */
export type Note = 'code' | 'header' | 'scope';

export function note(kind: Note, ...values: readonly string[]): MethodDecorator {
  return applyDecorators(...values.map((value) => ApiExtension(`x-note-${kind}-${value}`, true)));
}

/** Takes the notes of one kind off an operation. */
export function takeNotes(operation: object, kind: Note): ReadonlySet<string> {
  const prefix = `x-note-${kind}-`;
  const keys = Object.keys(operation).filter((key) => key.startsWith(prefix));
  for (const key of keys) Reflect.deleteProperty(operation, key);
  return new Set(keys.map((key) => key.slice(prefix.length)));
}
