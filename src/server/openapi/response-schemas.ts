import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { stringify } from 'lossless-json';

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g;

/**
 * Adds the document's schemas to Fastify by name; the serializer of an `@Operation` refers to them. So one class
 * defines the documented and the sent body.
 */
export function addResponseSchemas(fastify: FastifyInstance, { components }: OpenAPIObject): void {
  for (const [name, schema] of Object.entries(components?.schemas ?? {})) {
    // The serializer expects numbers, and ignores bounds and examples.
    const text = stringify(schema) ?? '{}';
    const local: object = JSON.parse(text.replace(REFERENCE, '"$1#"'));
    fastify.addSchema({ ...local, $id: name });
  }
}
