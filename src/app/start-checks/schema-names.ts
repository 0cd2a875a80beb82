import type { Type } from '@nestjs/common';
import type { RouteHandler } from './handlers';
import { isClass } from '../../platform/http/nest-dto';
import { metadataOf, propertiesOf, schemaNameOf } from './swagger-metadata';
import { UserError } from '../../platform/errors/user-error';

/** A class with a schema in the document, and the handler that uses it first. */
interface Schema {
  readonly type: Type;
  readonly place: string;
}

/**
 * Rejects two classes with one schema name. The second schema would replace the first one in the document, and in the
 * serializer of every response that refers to it.
 *
 * @param known classes with a schema that handlers do not name
 * @returns the schemas by name
 */
export function requireSchemaNames(
  handlers: readonly RouteHandler[],
  known: readonly Type[],
): Map<string, Schema> {
  const walk = new SchemaWalk();
  walk.visit(known, 'the service itself');
  for (const { place, controller, method, inputs } of handlers) {
    for (const { kind, type } of inputs) {
      // The document lists the properties of a query or path as parameters; their class has no schema.
      walk.visit(kind === 'body' ? type : metadataWithin(type), place);
    }
    walk.visit([metadataOf(controller), metadataOf(method)], place);
  }
  return walk.schemas;
}

/** Follows the metadata of @nestjs/swagger from class to class. */
class SchemaWalk {
  readonly schemas = new Map<string, Schema>();
  private readonly visited = new Set<unknown>();

  visit(metadata: unknown, place: string): void {
    if (this.visited.has(metadata)) return;
    this.visited.add(metadata);
    if (isLazy(metadata)) {
      this.visit(metadata(), place);
    } else if (isClass(metadata)) {
      this.add(metadata, place);
      this.visit(metadataWithin(metadata), place);
    } else if (typeof metadata === 'object' && metadata !== null) {
      for (const each of Object.values(metadata)) this.visit(each, place);
    }
  }

  private add(type: Type, place: string): void {
    const name = schemaNameOf(type);
    const first = this.schemas.get(name);
    if (first) {
      throw new UserError(
        `Two DTO classes have the schema name ${name}, one in ${first.place} and one in ${place}: rename one of them.`,
      );
    }
    this.schemas.set(name, { type, place });
  }
}

/** Returns the metadata of a class and of its properties. */
function metadataWithin(type: Type<object>): unknown[] {
  return [metadataOf(type), ...propertiesOf(type).map((name) => metadataOf(type.prototype, name))];
}

/** True for `type: () => Pet`, by the same rule as in @nestjs/swagger. */
function isLazy(metadata: unknown): metadata is () => unknown {
  return typeof metadata === 'function' && metadata.name === 'type';
}
