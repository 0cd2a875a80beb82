import { createRequire } from 'node:module';
import type { FastifyServerOptions } from 'fastify';
import type { OpenApiDocument } from './document';

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>;
type SerializerFactory = NonNullable<Compilers['buildSerializer']>;

/**
 * Returns the compilers of Fastify's schemas. The serializer of an `@Operation` refers to the document's schemas by name, so
 * one class defines the documented and the sent body.
 *
 * @param isLazy true: a serializer is compiled by the first response, because to compile all takes a tenth of a start, and no
 * route validates by a schema; false: a wrong schema ends the start
 */
export function compilersOf(document: () => OpenApiDocument, isLazy: boolean): Compilers {
  const compile: SerializerFactory = (added, options) => {
    const load: NodeJS.Require = createRequire(require.resolve('fastify'));
    const build: SerializerFactory = load('@fastify/fast-json-stringify-compiler')();
    return build({ ...Object(added), ...document().responseSchemas() }, options);
  };
  const compileLazily: SerializerFactory = (added, options) => {
    let compiler: ReturnType<SerializerFactory> | undefined;
    return (route) => {
      let serializer: ReturnType<ReturnType<SerializerFactory>> | undefined;
      return (body) => (serializer ??= (compiler ??= compile(added, options))(route))(body);
    };
  };
  // Fastify would load its compiler of validators, which no route of ours needs.
  return isLazy ? { buildSerializer: compileLazily, buildValidator } : { buildSerializer: compile };
}

function buildValidator(): never {
  throw new Error('Fastify validates nothing here: use a DTO class.');
}
