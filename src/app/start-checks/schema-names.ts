import type { Type } from '@nestjs/common';
import type { RouteHandler } from './handlers';
import { isClass } from '../../platform/http/nest-dto';
import { metadataOf, propertiesOf, schemaNameOf } from './swagger-metadata';
import { UserError } from '../../platform/errors/user-error';

/** A schema of the document, and the handler that uses it first. */
interface Schema {
  /** The class, or the values of an enumeration as JSON. */
  readonly definition: Type | string;
  readonly place: string;
}

/** The options of a property whose enumeration has a schema of its own. */
interface Enumeration {
  readonly enumName: string;
  readonly enum: unknown;
}

/**
 * Rejects one schema name for two classes, or for two enumerations with other values. The second schema would replace
 * the first one in the document, and in the serializer of every response that refers to it.
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
      this.add(schemaNameOf(metadata), metadata, place);
      this.visit(metadataWithin(metadata), place);
    } else if (isEnumeration(metadata)) {
      this.add(metadata.enumName, JSON.stringify(metadata.enum), place);
    } else if (typeof metadata === 'object' && metadata !== null) {
      for (const each of Object.values(metadata)) this.visit(each, place);
    }
  }

  private add(name: string, definition: Schema['definition'], place: string): void {
    const first = this.schemas.get(name);
    if (first && first.definition !== definition) {
      const areClasses = isClass(definition) && isClass(first.definition);
      const both = areClasses ? 'DTO classes have the schema name' : 'schemas have the name';
      throw new UserError(
        `Two ${both} ${name}, one in ${first.place} and one in ${place}: rename one of them.`,
      );
    }
    this.schemas.set(name, first ?? { definition, place });
  }
}

/** Returns the metadata of a class and of its properties. */
function metadataWithin(type: Type<object>): unknown[] {
  return [metadataOf(type), ...propertiesOf(type).map((name) => metadataOf(type.prototype, name))];
}

function isEnumeration(metadata: unknown): metadata is Enumeration {
  return typeof metadata === 'object' && metadata !== null && 'enumName' in metadata && 'enum' in metadata;
}

/** True for `type: () => Pet`, by the same rule as in @nestjs/swagger. */
function isLazy(metadata: unknown): metadata is () => unknown {
  return typeof metadata === 'function' && metadata.name === 'type';
}
