import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Type } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { platformErrors } from '../errors/platform.errors';

/**
 * Compares the current state of a resource with the one that the client has seen, inside the transaction that has
 * locked it.
 *
 * @throws ApiError `precondition_failed`
 */
export type Precondition<T> = (current: T) => void;

/** The schemas of responses by DTO class. Fastify keeps one serializer for each of these objects. */
const SCHEMAS = new WeakMap<Type, { readonly $ref: string }>();

/** Prints a value by the serializer of the route: only the declared fields of its DTO class. */
export function serializeJson(reply: FastifyReply, value: unknown): string {
  return textOf(reply.serialize(value));
}

/** Computes a strong entity tag (RFC 9110, 8.8.3): a hash of the bytes. */
export function entityTagOf(bytes: string | Buffer): string {
  return `"${hash('sha256', bytes, 'base64url')}"`;
}

/**
 * Returns `If-Match` and `If-None-Match` of a change (RFC 9110, 13.1) as a function; `type` is the class of the response
 * of GET.
 */
export function preconditionOf<T extends object>(reply: FastifyReply, type: Type<T>): Precondition<T> {
  const { headers } = reply.request;
  return (current) => {
    if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return;
    const schema = SCHEMAS.get(type) ?? { $ref: `${type.name}#` };
    SCHEMAS.set(type, schema);
    const body = reply.serializeInput(Object.fromEntries(Object.entries(current)), schema);
    const tag = entityTagOf(textOf(body));
    // The strong comparison (RFC 9110, 13.1.1).
    const isMatch = headers['if-match'] === undefined || listsTag(headers['if-match'], tag);
    if (!isMatch || isNotModified(headers, tag)) throw platformErrors.precondition_failed();
  };
}

/** True if `If-None-Match` names this entity tag (RFC 9110, 13.1.2, weak comparison); the response is then 304. */
export function isNotModified({ 'if-none-match': condition }: IncomingHttpHeaders, tag: string): boolean {
  return condition !== undefined && listsTag(condition.replaceAll('W/"', '"'), tag);
}

/** @param condition `*`, or a comma-separated list of entity tags; the service's own tags contain no comma */
function listsTag(condition: string, tag: string): boolean {
  const members = condition.split(',').map((member) => member.trim());
  return members.includes(tag) || condition.trim() === '*';
}

/** Requires text: Fastify's type allows bytes, too. */
function textOf(serialized: unknown): string {
  if (typeof serialized !== 'string') throw new Error('the serializer of an API route must return text');
  return serialized;
}
