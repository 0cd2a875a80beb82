import type { DynamicModule, INestApplication, Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { type OpenAPIObject, type ReferenceObject, type SchemaObject, SwaggerModule } from '@nestjs/swagger';

/** The parts of an extension that its document needs. */
export interface DocumentedExtension {
  readonly name: string;
  readonly modules: readonly (Type | DynamicModule)[];
  /** Groups of operations, with their descriptions. */
  readonly tags?: Readonly<Record<string, string>>;
}

export type NestModule = NonNullable<ReturnType<ModulesContainer['getById']>>;

/** The modules of one extension, and what their controllers add to the document. */
export interface ExtensionDocument<Extension extends DocumentedExtension> {
  readonly extension: Extension;
  readonly modules: readonly NestModule[];
  readonly paths: OpenAPIObject['paths'];
  readonly schemas: Readonly<Record<string, SchemaObject | ReferenceObject>>;
}

/**
 * Describes the operations of each extension. A module belongs to the extension that names it, or else to the last one
 * that imports it: every module imports the global ones.
 *
 * @param app may be a preview, which has no instances
 * @param basis the document without its operations
 */
export function documentsOf<Extension extends DocumentedExtension>(
  app: INestApplication,
  extensions: readonly Extension[],
  basis: Omit<OpenAPIObject, 'paths'>,
): ExtensionDocument<Extension>[] {
  const all = [...app.get(ModulesContainer).values()];
  const named = extensions.map(({ modules }) =>
    modules.map((each) => ('module' in each ? each.module : each)),
  );
  const owned = new Set(named.flat());
  const documents = extensions.toReversed().map((extension) => {
    const own = named[extensions.indexOf(extension)] ?? [];
    const modules = all.filter(({ metatype }) => own.includes(metatype));
    // The loop also visits the modules that it adds.
    for (const { imports } of modules) {
      for (const each of imports) {
        if (owned.has(each.metatype)) continue;
        owned.add(each.metatype);
        modules.push(each);
      }
    }
    // An empty list would include every module.
    if (modules.length === 0) return { extension, modules, paths: {}, schemas: {} };
    const include = modules.map(({ metatype }) => metatype);
    const { paths, components } = SwaggerModule.createDocument(app, basis, {
      include,
      autoTagControllers: false,
    });
    return { extension, modules, paths, schemas: components?.schemas ?? {} };
  });
  return documents.toReversed();
}
