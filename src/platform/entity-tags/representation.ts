import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';

/** Prints a value by the serializer of the route: only the declared fields of its DTO class. */
export function serializeJson(reply: FastifyReply, value: unknown): string {
  const text = reply.serialize(value);
  if (typeof text !== 'string') throw new Error('the serializer of an API route must return text');
  return text;
}

/** Computes a strong entity tag (RFC 9110, 8.8.3): a hash of the bytes. */
export function entityTagOf(bytes: string | Buffer): string {
  return `"${hash('sha256', bytes, 'base64url')}"`;
}

/** True if `If-Match` excludes this entity tag (RFC 9110, 13.1.1, strong comparison); the response is then 412. */
export function failsIfMatch({ 'if-match': condition }: IncomingHttpHeaders, tag: string): boolean {
  return condition !== undefined && !listsTag(condition, tag);
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
