import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from '../../platform/errors/media-types';
import { serveStatic } from '../../platform/entity-tags/static-content';
import { jsonText, yamlText } from './document-text';

/** Serves the OpenAPI document at `/openapi.json` and `/openapi.yaml`, without a key. */
export function serveDocument(fastify: FastifyInstance, document: OpenAPIObject): void {
  serveStatic(fastify, '/openapi.json', { 'Content-Type': JSON_TYPE }, () => jsonText(document));
  // RFC 9512.
  const yaml = { 'Content-Type': 'application/yaml; charset=utf-8' };
  serveStatic(fastify, '/openapi.yaml', yaml, () => yamlText(document));
}
