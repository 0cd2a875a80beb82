import type { Type } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { platformErrors } from '../errors/platform.errors';
import { entityTagOf, failsIfMatch, isNotModified } from './representation';

/**
 * Compares the current state of a resource with the one that the client has seen, inside the transaction that has
 * locked it.
 *
 * @throws ApiError `precondition_failed`
 */
export type Precondition<T> = (current: T) => void;

/** The schemas of responses by DTO class. Fastify keeps one serializer for each of these objects. */
const SCHEMAS = new WeakMap<Type, { readonly $ref: string }>();

/**
 * Returns `If-Match` and `If-None-Match` of a change (RFC 9110, 13.1) as a function; `type` is the class of the response
 * of GET.
 */
export function preconditionOf<T extends object>(reply: FastifyReply, type: Type<T>): Precondition<T> {
  const { headers } = reply.request;
  return (current) => {
    if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return;
    const body = reply.serializeInput(Object.fromEntries(Object.entries(current)), schemaOf(type));
    if (typeof body !== 'string') throw new Error('the serializer of an API route must return text');
    const tag = entityTagOf(body);
    if (failsIfMatch(headers, tag) || isNotModified(headers, tag)) throw platformErrors.precondition_failed();
  };
}

function schemaOf(type: Type): { readonly $ref: string } {
  const known = SCHEMAS.get(type) ?? { $ref: `${type.name}#` };
  SCHEMAS.set(type, known);
  return known;
}
