import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from '../errors/media-types';
import { jsonText, yamlText } from './document-text';

/** Serves the OpenAPI document at `/openapi.json` and `/openapi.yaml`, without a key. */
export function serveDocument(fastify: FastifyInstance, document: OpenAPIObject): void {
  const json = jsonText(document);
  // Printed on the first request: it takes 40 ms, and the start should not wait for it.
  let yaml: string | undefined;
  const config = { public: true };
  fastify.get('/openapi.json', { config }, (_request, reply) => reply.type(JSON_TYPE).send(json));
  // RFC 9512.
  fastify.get('/openapi.yaml', { config }, (_request, reply) =>
    reply.type('application/yaml; charset=utf-8').send((yaml ??= yamlText(document))),
  );
}
