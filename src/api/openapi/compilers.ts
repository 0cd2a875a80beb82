import { createRequire } from 'node:module';
import type { FastifyServerOptions } from 'fastify';
import { lazy } from '../lazy';
import type { OpenApiDocument } from './document';

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>;
type SerializerFactory = NonNullable<Compilers['buildSerializer']>;

/**
 * Returns compilers of schemas for a Fastify without schemas to validate. They compile the serializer of a response at its
 * first use: to compile all takes a tenth of a start. Fastify would also load its compilers at the start.
 */
export function lazyCompilers(document: () => OpenApiDocument): Compilers {
  return {
    buildSerializer: (added, options) => {
      const compiler = lazy(() => checkingCompilers(document).buildSerializer(added, options));
      return (route) => {
        const serializer = lazy(() => compiler()(route));
        return (body) => serializer()(body);
      };
    },
    buildValidator,
  };
}

/**
 * Returns a compiler that ends the start for a wrong schema. The serializer of an `@Operation` refers to the document's
 * schemas by name, so one class defines the documented and the sent body.
 */
export function checkingCompilers(document: () => OpenApiDocument) {
  const load: NodeJS.Require = createRequire(require.resolve('fastify'));
  const build: SerializerFactory = load('@fastify/fast-json-stringify-compiler')();
  const buildSerializer: SerializerFactory = (added, options) =>
    build({ ...Object(added), ...document().responseSchemas() }, options);
  return { buildSerializer };
}

function buildValidator(): never {
  throw new Error('Fastify validates nothing here: use a DTO class.');
}
