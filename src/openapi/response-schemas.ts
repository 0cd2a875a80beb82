import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g;

/**
 * Gives Fastify the document's schemas under their names, for the serializers that `@Answers` refers to.
 * So the classes define, once, what is documented and what is sent.
 */
export function addResponseSchemas(fastify: FastifyInstance, { components }: OpenAPIObject): void {
  for (const [name, schema] of Object.entries(components?.schemas ?? {})) {
    const local: object = JSON.parse(JSON.stringify(schema).replace(REFERENCE, '"$1#"'));
    fastify.addSchema({ ...local, $id: name });
  }
}
