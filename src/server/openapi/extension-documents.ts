import type { INestApplication } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { ChosenExtension } from '../../platform/extension/extension';

export type NestModule = NonNullable<ReturnType<ModulesContainer['getById']>>;

/**
 * Returns the modules of each extension, and what their controllers add to the document. A module belongs to the extension that names it, or else to the last one
 * that imports it: every module imports the global ones.
 *
 * @param app may be a preview, which has no instances
 * @param basis the document without its operations
 */
export function documentsOf(
  app: INestApplication,
  extensions: readonly ChosenExtension[],
  basis: Omit<OpenAPIObject, 'paths'>,
) {
  const all = [...app.get(ModulesContainer).values()];
  const owners = extensions.map((extension) => {
    const named = new Set(extension.modules.map((each) => ('module' in each ? each.module : each)));
    return { extension, modules: all.filter(({ metatype }) => named.has(metatype)) };
  });
  const owned = new Set(owners.flatMap(({ modules }) => modules));
  for (const { modules } of owners.toReversed()) {
    // The loop also visits the modules that it adds.
    for (const { imports } of modules) {
      modules.push(...[...imports].filter((each) => !owned.has(each)));
      for (const each of imports) owned.add(each);
    }
  }
  return owners.map((owner) => {
    const include = owner.modules.map(({ metatype }) => metatype);
    // An empty list would include every module.
    if (include.length === 0) return { ...owner, paths: {}, schemas: {} };
    const { paths, components } = SwaggerModule.createDocument(app, basis, {
      include,
      extraModels: Object.values(owner.extension.events ?? {}).map(({ data }) => data),
      autoTagControllers: false,
    });
    return { ...owner, paths, schemas: components?.schemas ?? {} };
  });
}
