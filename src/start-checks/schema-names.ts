import type { Type } from '@nestjs/common';
import { DeclarationError } from './declaration.error';
import { type Handler, isClass } from './handlers';
import { notesOn, propertiesOf, schemaNameOf } from './swagger-metadata';

/** A class with a schema in the document, and the handler that led to it first. */
interface Schema {
  readonly type: Type;
  readonly place: string;
}

/**
 * Rejects a second class of one schema name: its schema would replace the first one's in the document, and in the
 * serializer of every response that refers to it.
 *
 * @param known classes that no handler names
 * @returns the schemas by name
 */
export function requireSchemaNames(
  handlers: readonly Handler[],
  known: readonly Type[],
): Map<string, Schema> {
  const walk = new SchemaWalk();
  walk.visit(known, 'the service itself');
  for (const { place, controller, method, inputs } of handlers) {
    for (const { kind, type } of inputs) {
      // The properties of a query or path become parameters; the class itself has no schema.
      walk.visit(kind === 'body' ? type : notesWithin(type), place);
    }
    walk.visit([notesOn(controller), notesOn(method)], place);
  }
  return walk.schemas;
}

/** Follows the notes of @nestjs/swagger from class to class. */
class SchemaWalk {
  readonly schemas = new Map<string, Schema>();
  private readonly visited = new Set<unknown>();

  visit(note: unknown, place: string): void {
    if (this.visited.has(note)) return;
    this.visited.add(note);
    if (isLazy(note)) {
      this.visit(note(), place);
    } else if (isClass(note)) {
      this.add(note, place);
      this.visit(notesWithin(note), place);
    } else if (typeof note === 'object' && note !== null) {
      for (const each of Object.values(note)) this.visit(each, place);
    }
  }

  private add(type: Type, place: string): void {
    const name = schemaNameOf(type);
    const first = this.schemas.get(name);
    if (first) {
      throw new DeclarationError(
        `Two DTO classes have the schema name ${name}, one in ${first.place} and one in ${place}: rename one of them.`,
      );
    }
    this.schemas.set(name, { type, place });
  }
}

/** Returns the notes on a class and on its properties. */
function notesWithin(type: Type<object>): unknown[] {
  return [notesOn(type), ...propertiesOf(type).map((name) => notesOn(type.prototype, name))];
}

/** `type: () => Pet`, as @nestjs/swagger itself recognises it. */
function isLazy(note: unknown): note is () => unknown {
  return typeof note === 'function' && note.name === 'type';
}
